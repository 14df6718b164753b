"""What is called and is no op."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import lookup
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.special_forms import FUNCTIONS, METHODS

X, Y = Name("x"), Name("y")


def test_sizes():
    shape = Attribute(X, "shape")
    assert parse("x.shape[0]") == parse("x.size(0)") == parse("x.size(dim=0)") == Call("getitem", (shape, Literal(0)))
    assert parse("x.size()") == shape
    assert parse("x.dim()") == parse("x.ndim") == Attribute(X, "ndim")
    assert parse("x.numel()") == parse("torch.numel(x)") == Attribute(X, "numel")
    assert parse("len(x.shape)") == Attribute(shape, "len")


def test_gradients():
    assert parse("grad(p)") == Gradient("p")
    assert parse("grad(m[0])") == Gradient("m[0]")
    assert parse("no_grad(x)") == parse("x.detach()") == parse("torch.detach(x)") == Call("detach", (X,))


def test_casts():
    assert parse("x.double()") == parse("x.double( )")
    assert parse("x.to(torch.float32)") == Call("to", (X, Dtype("float32")))


def test_slices_and_numbers() -> None:
    assert parse("getitem(x, slice(1, None))") == parse("x[1:]")
    assert parse("getitem(x, slice(2))") == parse("x[:2]")
    assert parse("getitem(x, slice(1, None, n))") == parse("x[1::n]")
    assert parse("x.int16()") == parse("x.to(torch.int16)")
    assert parse("float(2)") == Literal(2.0)
    assert parse("float('-inf')") == parse("-torch.inf")
    assert parse("complex(1, -2)") == Literal(complex(1, -2))
    assert parse("complex(x, y)") == Call("complex", (X, Y))  # the op


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("grad(x, y)", "it is written grad(x), with the name of a tensor"),
        ("no_grad(x=1)", "it is written no_grad(expression)"),
        ("numel()", "it is written numel(x)"),
        ("x.dim(0)", "it is written x.dim()"),
        ("x.nelement(1)", "it is written x.numel()"),
        ("x.int16(1)", "it is written x.to(torch.int16)"),
        ("x.size(0, 1)", "it is written x.size() or x.size(0)"),
        ("x.size(axis=1)", "it is written x.size() or x.size(0)"),
        ("slice()", "it is written slice(stop), slice(start, stop) or slice(start, stop, step)"),
    ],
)
def test_other_arguments_are_told_how_it_is_written(text: str, usage: str) -> None:
    with pytest.raises(InvalidCase, match="wrong arguments") as caught:
        parse(text)
    assert caught.value.hint == usage


def test_none_of_them_is_an_op_s_only_name() -> None:
    """Where an op has the name too, the printer must write it otherwise."""
    for name in FUNCTIONS:
        entry = lookup(name)
        assert entry is None or parse(to_text(Call(name, (X,) * 2 if name == "complex" else (X,)))).op == name  # type: ignore[attr-defined]
    assert not {name for name in METHODS if (found := lookup(name)) is not None and found.method}
