"""Sides of a comparison, by the numbers of its margin."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.branches.branch_sites import BranchSite, Margin, SearchTargets, are_goals_met, step_margins


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


ABOVE, OTHER = BranchSite("f", 0, "gt"), BranchSite("f", 1, "gt")


def margin(*numbers: float) -> Margin:
    return Margin(np.array(numbers), np.ones(len(numbers)))


def test_the_nearest_element_moves_alone_where_little_is_asked() -> None:
    (residual,) = SearchTargets(0, [(ABOVE, 1)], (1e-6,)).residuals([margin(-3, -0.5, -9)])
    assert residual.tolist() == [0.0, -0.5 - 1e-6, 0.0]


def test_aims_are_met_beyond_the_threshold() -> None:
    aims = SearchTargets(0, [(ABOVE, 1)], (0.05,))
    assert not aims.are_reached(aims.residuals([margin(-1.0)]))
    assert aims.are_reached(aims.residuals([margin(0.05)]))


def test_of_two_margins_one_element_is_to_be_on_both_sides() -> None:
    goals = [(ABOVE, 1), (OTHER, -1)]
    assert are_goals_met(goals, [margin(1, -1), margin(-1, 1)])
    assert not are_goals_met(goals, [margin(1, -1), margin(1, -1)])


def test_a_rounding_has_a_margin_for_each_sign_met() -> None:
    found = [*step_margins("floor", (np.array([0.5, 2.0]),), np.array([0.0, 2.0]))]
    assert [None if margin is None else margin.numbers.tolist() for margin in found] == [[-1.0, 0.5], None]
    (quotient, _) = step_margins("fmod", (np.array([300.0]), 100.0), np.array([0.0]))
    assert quotient is not None
    assert quotient.numbers.tolist() == [1.5]
    assert not [*step_margins("div", (np.ones(2), 2.0, None), np.ones(2))]  # a division that rounds nothing


def test_overflow_and_choices_have_outcomes() -> None:
    (margin,) = step_margins("nan_to_num", (np.array([1.0, np.inf]),), np.array([1.0, 0.0]))
    assert margin is not None
    assert (margin.numbers > 0).tolist() == [False, True]
    found = [*step_margins("argmax", (np.array([3.0, 1.0, 2.0]),), np.array(0))]
    assert [bool(one.numbers > 0) for one in found if one is not None] == [True, False, False, False]
