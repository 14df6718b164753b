"""Formulas that are no numbers where what they stand for is none, either."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.failures.correction.undefined import is_equally_undefined
from gradcheck.language.case import Claim
from gradcheck.language.expr.parser import parse
from tests.checks.build import context_of

CASE = "{inputs: {x: [0.0, 1.0, 2.0]}, graph: {y: x * x}, backward: {y: [1.0, 1.0, 1.0]}}"


def claim(text: str) -> Claim:
    return Claim(text, parse(text))


@pytest.mark.parametrize(
    ("wrong", "suggested", "is_excused"),
    [
        ("x / x", "2 * x * x / x", True),  # the author divides by 0 as well
        ("3 * x", "2 * x * x / x", False),
        ("x / x", "3 * x * x / x", False),  # off elsewhere, too
        ("1 / x", "2 * x * x / x", True),
        ("x / x + y[:2]", "2 * x * x / x", False),  # the author's has no value
        ("1 / (x - 1)", "2 * x * x / x", False),  # none elsewhere
    ],
)
def test_where_neither_is_a_number(wrong: str, suggested: str, is_excused: bool) -> None:
    own = context_of(CASE).points.own
    claims = StepClaims(own, own.last_step)
    with np.errstate(all="ignore"):
        found = check_formula(claims, "x", claim(suggested))
        assert found.status == "failed"
        assert is_equally_undefined(claim(wrong), claims, found) == is_excused


def test_without_one_nothing_is_excused() -> None:
    own = context_of(CASE).points.own
    claims = StepClaims(own, own.last_step)
    assert not is_equally_undefined(None, claims, check_formula(claims, "x", claim("2 * x * x / x")))
