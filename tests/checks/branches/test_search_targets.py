"""Which elements are to move, and when they are where they should be."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.branches.branch_sites import BranchSite, Margin
from gradcheck.checks.branches.search_targets import SearchTargets, are_goals_met

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
