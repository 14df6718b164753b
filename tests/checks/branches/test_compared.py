"""What ops compare."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.branches.compared import compared_operands, truncates_to_integers

X, T, WHOLE = np.array([1.5]), np.array([True]), np.array([1])


def test_operands_are_compared_with_each_other_or_with_0() -> None:
    for name in ("gt", "eq", "isclose", "maximum"):
        assert [*compared_operands(name, (X, 2.0), T, is_claim=False)] == [(X, 2.0)]
    for name in ("abs", "signbit", "logical_not"):
        assert [*compared_operands(name, (X,), T, is_claim=False)] == [(X, 0.0)]
    assert [*compared_operands("logical_and", (X, T), T, is_claim=False)] == [(X, 0.0)]
    assert [*compared_operands("copysign", (1.0, X), X, is_claim=False)] == [(X, 0.0)]
    assert not [*compared_operands("gt", (WHOLE, WHOLE), T, is_claim=True)]


def test_an_edge_is_asked_of_claims_alone() -> None:
    assert [*compared_operands("log1p", (X,), X, is_claim=True)] == [(X + 1, 0.0)]
    assert not [*compared_operands("log1p", (X,), X, is_claim=False)]


def test_a_cast_asks_whether_numbers_are_0_or_cuts_them() -> None:
    assert [*compared_operands("to", (X, bool), T, is_claim=False)] == [(X, 0.0)]
    assert not [*compared_operands("to", (X, int), WHOLE, is_claim=False)]
    assert truncates_to_integers("to", (X, int), WHOLE)
    assert not truncates_to_integers("to", (WHOLE, int), WHOLE)
