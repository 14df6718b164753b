"""Sides of a comparison, by the numbers of its margin."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.branches.branch_sites import BranchSite, Margin


@pytest.mark.parametrize(
    ("op", "together", "sides"),
    [("gt", False, (-1, 1)), ("gt", True, (-2, -1, 1, 2)), ("eq", False, (0, 1)), ("eq", True, (0, 1, 2))],
)
def test_sides(op: str, together: bool, sides: tuple[int, ...]) -> None:
    site = BranchSite("y", 0, op, together)
    assert site.sides == sides
    assert site.is_on(np.zeros(2), 0) if op == "eq" else site.is_on(np.array([-1.0, 2.0]), 1)
    assert not site.is_on(np.array([np.nan]), sides[0])


def test_a_guard_is_a_tiny_number_that_nobody_spells_out() -> None:
    assert Margin(np.ones(2), np.full(2, 1e-8)).is_guard
    assert not Margin(np.ones(2), np.full(2, 1e-8), is_stated=True).is_guard
    assert not Margin(np.ones(2), np.ones(2)).is_guard
