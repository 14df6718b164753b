"""Expressions are values: equal by what they say, wherever it stood in a text."""

import pickle

import pytest

from gradcheck.language.expr.nodes import Call, Literal, Name, Sequence, Slice
from gradcheck.language.expr.parser import parse


def test_equality_ignores_where_a_part_stood():
    assert parse("x+y") == parse("  x   +   y")
    assert hash(parse("x+y")) == hash(parse("  x   +   y"))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Literal(1), Literal(1.0)),
        (Literal(1), Literal(True)),
        (Literal(0.0), Literal(-0.0)),
        (Literal("x"), Name("x")),
        (Slice(Literal(1)), Slice(None, Literal(1))),
        (Sequence((Literal(1),)), Sequence((Literal(1),), True)),
        (Call("f", (Name("x"), Name("y"))), Call("f", (Name("x"),), (("y", Name("y")),))),
        (Call("f", (), (("a", Name("x")),)), Call("f", (), (("b", Name("x")),))),
        (Call("f", (Sequence((Name("x"),)), Name("y"))), Call("f", (Sequence((Name("x"), Name("y"))),))),
    ],
)
def test_what_differs_is_different(a, b):
    assert a != b
    assert a == pickle.loads(pickle.dumps(a))


def test_nan_equals_itself():
    assert Literal(float("nan")) == Literal(float("nan"))


def test_walk_goes_in_reading_order():
    names = [node.name for node in parse("f @ x.sum(dim=k)[i, j:l]").walk() if isinstance(node, Name)]
    assert names == ["f", "x", "k", "i", "j", "l"]


def test_an_expression_shows_its_parts_however_deep_it_is():
    assert repr(parse("x+y.T")) == "Call('add', 2) Name('x') Call('T', 1) Name('y')"
    assert repr(parse("-" * 90 + "x")).count("neg") == 90
