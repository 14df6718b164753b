"""What is called: ops by all of their names, as functions and as methods; and special forms, which are no ops."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE, lookup
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.call_parser import FUNCTIONS, METHODS
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from tests.tables import for_each

X, Y = Name("x"), Name("y")


def test_an_op_answers_to_all_of_its_names():
    one = Call("relu", (X,))
    for text in ["relu(x)", "x.relu()", "F.relu(x)", "torch.relu(x)", "nn.functional.relu(x)",
                 "torch.nn.functional.relu(x)"]:  # fmt: skip
        assert parse(text) == one


def test_a_tensor_may_carry_a_namespace_s_name():
    f = Name("F")
    assert parse("F.T @ F") == Call("matmul", (Call("T", (f,)), f))
    assert parse("F.sum()") == Call("sum", (f,))
    assert parse("F.sum(0)") == Call("sum", (f, Literal(0)))
    assert parse("F.sum(dim=-1)") == Call("sum", (f,), (("dim", Literal(-1)),))
    assert parse("linalg.shape") == Attribute(Name("linalg"), "shape")
    assert parse("F.relu(x)") == Call("relu", (X,))
    assert parse("F.unfold(x, 2)") == Call("nn.functional.unfold", (X, Literal(2)))  # another than the method
    assert parse("F.unfold(0, 2, 1)") == Call("unfold", (f, Literal(0), Literal(2), Literal(1)))
    assert parse("F.clamp(0, 1)") == Call("clamp", (f, Literal(0), Literal(1)))
    assert parse("torch.pow(2, x)") == Call("pow", (Literal(2), X))
    assert parse("math.log(2)") == Call("log", (Literal(2),))
    assert parse("torch.T") == Call("T", (Name("torch"),))
    assert parse("sum(sum)") == Call("sum", (Name("sum"),))


def test_a_property_of_a_tensor_called_np_has_methods() -> None:
    assert parse("np.T.sum()") == parse("(np.T).sum()")
    assert parse("np.H.numel()") == Attribute(parse("np.H"), "numel")
    with pytest.raises(InvalidCase, match=r"there is no op 'np\.linalg\.foo'"):
        parse("np.linalg.foo(x)")


def test_keywords_answer_to_numpy_s_names():
    assert parse("sum(x, axis=0, keepdims=True)") == parse("sum(x, dim=0, keepdim=True)")


@for_each(sorted(TABLE))
def test_no_op_hides_behind_a_name_that_python_cannot_write(name):
    assert all(part.isidentifier() for part in name.split("."))


def test_a_call_stands_where_it_begins() -> None:
    expr = parse("x + torch.sum(y, dim=0)")
    assert [node.at for node in expr.children] == [0, 4]


def test_where_as_a_method_has_its_condition_first() -> None:
    assert parse("x.where(c, y)") == parse("where(c, x, y)")


@pytest.mark.parametrize(
    ("text", "at", "message", "hint"),
    [
        ("x + np.exp(x)", 7, "there is no op 'np.exp'", "write exp(…)"),
        ("torch.linalg.exp(x)", 13, "there is no op 'torch.linalg.exp'", "write exp(…)"),
        ("x.sum(q=1)", 6, "sum has no argument 'q'", "its signature is sum("),
        ("sum(x, device=1)", 7, "sum has no argument 'device'", "everything runs on the CPU"),
        ("x.zeros(2)", 2, "'zeros' is no method", "it is a function: zeros("),
        ("add_(x, 1)", 0, "there is no op 'add_'", "an op in place is not part of the language; write add"),
    ],
)
def test_what_cannot_be_called(text: str, at: int, message: str, hint: str) -> None:
    with pytest.raises(InvalidCase) as caught:
        parse(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.place.column == at


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
