"""Claimed gradients audited in full and along directions."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.engines.core import Core
from gradcheck.language.sampling import literal_problem
from gradcheck.oracles.numeric.audit import DIRECTIONS, audit, is_between_sides, is_refuted
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_gradient import NumericGradient, numeric_gradient
from gradcheck.oracles.numeric.objective import OpObjective


def squares(size: int, analytic: bool) -> tuple[NumericGradient, np.ndarray]:
    """The sum of squares of random numbers, and its gradient."""
    x = np.random.default_rng(0).standard_normal(size)

    def call(value: object) -> object:
        return TABLE["square"](value if analytic else TABLE["abs"](value))

    return NumericGradient([OpObjective(x, call, [np.ones(size)])]), 2 * x


@pytest.mark.parametrize("analytic", [True, False])
@pytest.mark.parametrize("size", [5, 3000])
def test_a_right_gradient_passes_in_full_or_along_directions(size: int, analytic: bool) -> None:
    gradient, right = squares(size, analytic)
    found = audit(gradient, right, np.full(size, 1e-10))
    assert found.status == "passed"
    assert (found.sampled, found.examined) == ((False, 5) if size == 5 else (True, DIRECTIONS))


@pytest.mark.parametrize("analytic", [True, False])
@pytest.mark.parametrize("size", [5, 3000])
@pytest.mark.parametrize("factor", [1.001, 1 + 1e-6, -1.0, 0.0])
def test_one_wrong_element_is_found(size: int, analytic: bool, factor: float) -> None:
    gradient, claimed = squares(size, analytic)
    at = int(np.argmax(np.abs(claimed)))
    claimed[at] *= factor
    found = audit(gradient, claimed, 1e-10 * np.abs(claimed).max() + np.zeros(size))
    assert (found.status, found.worst) == ("failed", at)
    assert found.value == pytest.approx(claimed[at] / factor if factor else found.value)


def test_a_bar_wider_than_what_is_allowed_is_undecided() -> None:
    x = np.array([1.0])
    generator = np.random.default_rng(0)

    def noisy(value: object) -> object:
        return TABLE["abs"](value) + 1e-6 * float(generator.standard_normal())

    gradient = NumericGradient([OpObjective(x, noisy, [np.ones(1)])])
    assert audit(gradient, np.array([1.0]), np.array([1e-12])).status == "undecided"
    assert audit(gradient, np.array([1.5]), np.array([1e-12])).status == "failed"


def test_no_elements_pass() -> None:
    gradient, _ = squares(5, True)
    assert audit(gradient, np.zeros(0), np.zeros(0)).status == "passed"


def test_an_infinite_slope_is_no_number() -> None:
    """The derivative of the square root at 0: no claim of infinity is refuted."""
    gradient = NumericGradient([OpObjective(np.zeros(1), lambda value: TABLE["sqrt"](value), [np.ones(1)])])
    assert audit(gradient, np.array([np.inf]), np.array([1e-10])).status != "failed"


def estimate(left: list[float], right: list[float], error: float = 0.0) -> Estimate:
    """Of derivatives that differ from left to right where there is a kink."""
    sides = np.array(left), np.array(right)
    value, kinked = (sides[0] + sides[1]) / 2, sides[0] != sides[1]
    return Estimate(value, np.full(len(left), error), *sides, kinked, "differences")


def test_subgradients_are_within() -> None:
    at_kinks = estimate([-1.0, 1.0, 0.0], [1.0, -1.0, 2.0])
    for claimed, inside in (([0.5, -1.0, 0.0], [True] * 3), ([1.1, -1.1, 2.1], [False] * 3)):
        assert is_between_sides(at_kinks, np.array(claimed), np.zeros(3)).tolist() == inside
        assert is_refuted(at_kinks, np.array(claimed), np.zeros(3)).tolist() == [not one for one in inside]


def test_the_error_bar_and_what_is_allowed_add_up() -> None:
    smooth = estimate([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], error=0.25)
    claimed = np.array([1.3, 1.4, np.nan])
    assert is_refuted(smooth, claimed, np.full(3, 0.1)).tolist() == [False, True, False]
    known = estimate([1.0], [1.0], error=1e-4)
    assert is_refuted(known, np.array([np.inf]), np.array([0.1])).tolist() == [True]


@pytest.mark.parametrize("graph", ["relu(x)", "clamp(x, -0.1, 0.1)", "maximum(x, 0 * x + 0.2)", "where(x > 0, x, 0)"])
def test_where_nothing_changes_the_gradient_is_zero(graph: str) -> None:
    incoming = {"y": [1.0, -2.0, 3.0, 0.5]}
    problem = literal_problem("own", {"x": [1.5, -2, 0.5, -0.25]}, {"y": graph}, incoming)
    claimed = Core().evaluate(problem).states[0].gradients["x"]
    assert claimed is not None
    assert not claimed.all()
    oracle = numeric_gradient(problem, "x", 0)
    assert audit(oracle, claimed, 1e-10 * np.abs(claimed)).status == "passed"
    assert audit(oracle, claimed + 1e-12 * (claimed == 0), 1e-10 * np.abs(claimed)).status == "failed"
