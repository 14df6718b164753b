"""Nested and named arguments of other libraries' code."""

from __future__ import annotations

from typing import Any

from gradcheck.engines.implementation.binding import Binding
from gradcheck.engines.implementation.call_arguments import Operand
from gradcheck.engines.implementation.foreign_arguments import bound_foreign, from_leaves, is_taken_apart
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Name

PARAMETERS, X = Claim("p", Name("p")), Claim("x", Name("x"))
NESTED = {"p": {"w": Operand("p_w"), "deep": [Operand("p_b"), 7]}}


class Foreign:
    def __init__(self, function: Any) -> None:
        self.function = function


def test_a_function_of_leaves_gets_its_structures() -> None:
    called = from_leaves(lambda p, *, x: (p, x), [NESTED["p"]], {"x": Operand("x")})
    assert called(1, 2, 3) == ({"w": 1, "deep": [2, 7]}, 3)


def test_only_nested_or_named_arguments_are_taken_apart() -> None:
    foreign = Foreign(lambda *given, **named: (given, named))
    plain = Binding((X,))
    assert not is_taken_apart(foreign, plain)
    assert bound_foreign(foreign, plain) is foreign
    nested = Binding((PARAMETERS, X), objects=NESTED)
    assert is_taken_apart(foreign, nested)
    assert [claim.text for claim in nested.operand_claims] == ["p_w", "p_b", "x"]
    assert bound_foreign(foreign, nested).function(1, 2, 3) == (({"w": 1, "deep": [2, 7]}, 3), {})
    named = Binding((), keywords={"x": X})
    assert bound_foreign(foreign, named).function(4) == ((), {"x": 4})
