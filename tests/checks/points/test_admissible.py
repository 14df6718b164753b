"""Which drawn points can be used, and which tell something."""

from __future__ import annotations

from gradcheck.checks.points.admissible import is_informative, rejection_reason
from gradcheck.facts import fact
from tests.checks.build import point_of

GENERAL = "{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}, formulas: {x: 2 * x}}"


def test_where_the_graph_is_not_defined_a_point_is_unusable() -> None:
    assert rejection_reason(point_of(GENERAL)) is None
    broken = rejection_reason(point_of("{inputs: {x: [1, 2]}, graph: {y: 'x.reshape(3, 1)', z: y.sum()}}"))
    assert broken is not None
    assert broken.kind == "said"
    asked = "{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: {y: [1, 1]}, raises: backward_twice}]}"
    assert rejection_reason(point_of(asked)) == fact("not_raised_here", error="backward_twice")


def test_gradients_that_are_all_zero_tell_nothing() -> None:
    assert is_informative(point_of(GENERAL))
    assert not is_informative(point_of(GENERAL.replace("x * x", "x.relu() * 0").replace("2 * x", "0 * x")))
