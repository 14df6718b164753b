"""What code is called with."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.engines.implementation.binding import (
    Binding,
    ancestors_of,
    bind,
    bindings,
    bound_foreign,
    from_leaves,
    is_taken_apart,
    operands_of,
)
from gradcheck.engines.implementation.call_arguments import Operand
from gradcheck.errors import InvalidCase
from gradcheck.language.case import Case, Claim, Implementation
from gradcheck.language.expr.nodes import Name
from gradcheck.language.expr.parser import parse
from tests.from_text import case_of

CASE = """
dims: {n: 2}
inputs: {x: "randn(n, n)", w: "randn(n, n)"}
constants: {m: "rand(n, n)"}
graph: {h: x * m, y: h @ w}
"""
ONE = Implementation("y", "mine")
PARAMETERS, X = Claim("p", Name("p")), Claim("x", Name("x"))
NESTED = {"p": {"w": Operand("p_w"), "deep": [Operand("p_b"), 7]}}


@pytest.fixture(scope="module")
def case() -> Case:
    return case_of(CASE)


def names(case: Case, function: Any, one: Implementation = ONE, parameters: tuple[str, ...] = ()) -> tuple[str, ...]:
    return tuple(claim.text for claim in bind(case, one, function, parameters).claims)


def test_operands_and_ancestors(case: Case) -> None:
    assert operands_of(case, "y") == ["w", "h"]
    assert ancestors_of(case, "y") == {"h", "w", "x", "m"}


def test_parameters_decide_by_name(case: Case) -> None:
    assert names(case, lambda h, w: 0) == ("h", "w")
    assert names(case, lambda x, w, m: 0) == ("x", "w", "m")  # ancestors, too
    assert names(case, lambda w, h, eps=1e-5: 0) == ("w", "h")
    assert bind(case, ONE, lambda h, eps=1, *, w: 0).keywords.keys() == {"w"}


def test_else_operands_in_order(case: Case) -> None:
    assert names(case, lambda a, b: 0) == ("w", "h")
    assert names(case, lambda *all_of_them: 0) == ("w", "h")
    assert bind(case, ONE, lambda a, b: 0).note["how"] == "in order"


def test_where_names_do_not_tell_there_are_several(case: Case) -> None:
    """`x` is an ancestor, and what many call any argument; a default may stand for an operand of another name."""
    left_out = bindings(case, ONE, lambda w, b=None: 0)
    assert [tuple(claim.text for claim in one.claims) for one in left_out] == [("w", "h"), ("w",)]
    found = bindings(case, ONE, lambda x, w: 0)
    assert [tuple(claim.text for claim in one.claims) for one in found] == [("w", "h"), ("x", "w")]


def test_arguments_decide(case: Case) -> None:
    arguments = (Claim("n + 1", parse("n + 1")), Claim("x", parse("x")))
    one = Implementation("y", "mine", arguments=arguments)
    assert names(case, lambda a, b: 0, one) == ("n + 1", "x")


def test_what_does_not_fit_is_invalid(case: Case) -> None:
    with pytest.raises(InvalidCase, match=r"takes \(a, b, c\), and y is made of w, h"):
        bind(case, ONE, lambda a, b, c: 0)


def test_parameters_of_a_module_are_bound_by_name(case: Case) -> None:
    found = bind(case, ONE, lambda h: 0, ("layer.w", "layer.b"))
    assert found.parameters == {"layer.w": "w"}
    assert found.unbound_parameters == ("layer.b",)
    assert found.names == ("h", "w")


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
