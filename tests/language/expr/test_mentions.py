"""What an expression mentions."""

from __future__ import annotations

from gradcheck.language.expr.mentions import free_names, gradient_names, mentions, ops_in
from gradcheck.language.expr.parser import parse


def test_names_gradients_and_ops_are_listed_with_their_columns():
    expr = parse("a @ grad(b) + sum(a, dim=k) * pi")
    assert free_names(expr) == {"a": 0, "k": 25, "pi": 30}
    assert gradient_names(expr) == {"b": 4}
    assert ops_in(expr) == {"add": 0, "matmul": 0, "mul": 14, "sum": 14}


def test_all_at_once_in_reading_order() -> None:
    found = mentions(parse("b * a - grad(m[0]) + a.T"))
    assert list(found.names) == ["b", "a"]
    assert list(found.gradients) == ["m[0]"]
    assert list(found.ops) == ["add", "sub", "mul", "T"]
