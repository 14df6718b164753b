"""What is called: ops by all of their names, as functions and as methods."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.nodes import Attribute, Call, Literal, Name
from gradcheck.language.expr.parser import parse

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
    assert parse("F.clamp(0, 1)") == Call("clamp", (f, Literal(0), Literal(1)))
    assert parse("torch.pow(2, x)") == Call("pow", (Literal(2), X))
    assert parse("math.log(2)") == Call("log", (Literal(2),))
    assert parse("torch.T") == Call("T", (Name("torch"),))
    assert parse("sum(sum)") == Call("sum", (Name("sum"),))


def test_keywords_answer_to_numpy_s_names():
    assert parse("sum(x, axis=0, keepdims=True)") == parse("sum(x, dim=0, keepdim=True)")


@pytest.mark.parametrize("name", sorted(TABLE))
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
