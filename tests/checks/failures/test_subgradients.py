"""At a kink every value between the one-sided derivatives is a subgradient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.failures.subgradients import MAX_DIMENSIONS, locate_in_hull, nearest_weights
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules

# Kinks ---------------------------------------------------------------------------------------------

RELU = "{inputs: {x: [0, 1, -1]}, graph: {y: relu(x), loss: (3 * y).sum()}}"
NEAR = 1e-9


def relu_at_0(slope: float) -> Callable[..., object]:
    where = TABLE["where"]
    return lambda g, y, x: where(x > 0, g, where(x == 0, slope * g, 0 * g))


@pytest.mark.parametrize("slope", [0.5, 1.0])
def test_another_subgradient_is_another_convention(check: Check, with_rules: WithRules, slope: float) -> None:
    with_rules("relu", relu_at_0(slope))
    case = check(RELU)
    assert case.status == "passed"
    (gradient,) = failed(case, "gradient")
    assert gradient.status == "not_differentiable"
    assert say(gradient.verdict).startswith(
        "a difference of convention, not a failure: no derivative there, and any of [0, 3]"
    )
    assert gradient.certificate == {"method": "gradients nearby", "subgradients": [0.0, 3.0]}
    (node,) = failed(case, "node")
    assert node.status == "not_differentiable"


@pytest.mark.parametrize("slope", [-0.1, 1.1, float("nan")])
def test_a_value_outside_of_the_interval_fails(check: Check, with_rules: WithRules, slope: float) -> None:
    with_rules("relu", relu_at_0(slope))
    case = check(RELU)
    assert case.status == "failed"
    (gradient,) = failed(case, "gradient")
    assert (gradient.status, gradient.worst_index) == ("failed", (0,))
    assert "is outside of the subgradients, [0, 3]" in say(gradient.verdict)


def test_a_case_asks_for_torch_s_convention_by_what_it_expects(check: Check, with_rules: WithRules) -> None:
    with_rules("relu", relu_at_0(1.0))
    case = check(RELU[:-1] + ", expected: {x: [0, 3, 0]}}")
    assert case.status == "failed"
    (expected,) = [c for c in failed(case, "expected") if c.status == "failed"]
    assert (expected.engine, expected.worst_index) == ("core", (0,))
    assert say(expected.verdict).startswith("another convention at a kink: ")


def test_a_wrong_element_beside_a_kink_fails(check: Check, with_rules: WithRules) -> None:
    where = TABLE["where"]
    with_rules("relu", lambda g, y, x: where(x > 0, 1.01 * g, where(x == 0, g, 0 * g)))
    case = check(RELU)
    assert case.status == "failed"
    assert {c.status for c in failed(case, "gradient")} == {"failed"}


def test_ties_share_or_choose(check: Check, with_rules: WithRules) -> None:
    """torch shares the gradient of amax among ties; one that gives all to the first is as right."""
    first, hot, to = TABLE["argmax"], TABLE["one_hot"], TABLE["to"]
    with_rules("amax", lambda g, y, x, *rest: to(hot(first(x), x.shape[0]), x.dtype) * g)
    case = check("{inputs: {x: [2, 1, 2]}, graph: {m: amax(x), loss: 5 * m}}")
    assert case.status == "passed", failed(case)
    assert {c.status for c in failed(case)} == {"not_differentiable"}


@pytest.mark.parametrize(
    ("op", "graph"),
    [
        ("abs", "loss: x.abs().sum()"),
        ("clamp", "loss: 'clamp(x, 0, 1).sum()'"),
        ("linalg.vector_norm", "loss: 'x[:1].norm()'"),
    ],
)
def test_other_kinks_are_intervals_too(check: Check, with_rules: WithRules, op: str, graph: str) -> None:
    rules = TABLE[op].rules
    where = TABLE["where"]

    def one_at_0(g: object, y: object, x: object, *rest: object) -> object:
        return where(x == 0, 0.25 * g, rules[0](g, y, x, *rest))  # type: ignore[misc]

    with_rules(op, one_at_0, *rules[1:])
    case = check(f"{{inputs: {{x: [0, 0.5]}}, graph: {{{graph}}}}}")
    assert case.status == "passed", failed(case)
    assert {c.status for c in failed(case)} == {"not_differentiable"}


@pytest.mark.parametrize(("count", "size"), [(5, 3), (20, 3), (30, 60)])
def test_weights_lead_to_the_nearest_point(count: int, size: int) -> None:
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((count, size))
    for point in (vectors[:3].mean(axis=0), 1.5 * vectors.max(axis=0)):
        found = nearest_weights(vectors, point)
        nearest = found @ vectors
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        assert np.max((vectors - nearest) @ (point - nearest)) <= 1e-9  # no vector is further out
    assert nearest_weights(vectors, vectors[0]) @ vectors == pytest.approx(vectors[0])


def box(size: int) -> Callable[[np.ndarray], list[np.ndarray]]:
    """The corners of a cube, the furthest out in a direction."""
    return lambda gap: [(gap > 0).astype(float), (gap < 0).astype(float)]


@pytest.mark.parametrize("size", [3, 500])
def test_a_cube_of_any_dimension(size: int) -> None:
    known = [np.zeros(size), np.ones(size)]
    half = np.full(size, 0.5)
    corner = (np.arange(size) % 2).astype(float)
    outside = np.where(np.arange(size) == 1, 1.1, 0.5)
    places = [locate_in_hull(point, known, box(size), NEAR) for point in (half, corner, outside)]
    assert places == ["inside", "inside", "outside"]


def test_all_to_each_of_two_maxima_adds_up_to_too_much() -> None:
    def shares(gap: np.ndarray) -> list[np.ndarray]:
        return [np.eye(2)[np.argmax(gap)], np.eye(2)[np.argmin(gap)]]

    points = [np.ones(2), np.array([0.3, 0.7]), np.eye(2)[0], np.zeros(2)]
    places = [locate_in_hull(point, list(np.eye(2)), shares, NEAR) for point in points]
    assert places == ["outside", "inside", "inside", "outside"]


def test_where_nothing_more_is_found_many_dimensions_leave_it_open() -> None:
    def none(gap: np.ndarray) -> list[np.ndarray]:
        return []

    for size, place in ((2, "outside"), (MAX_DIMENSIONS + 1, "unknown")):
        corners = [np.zeros(size), np.eye(size)[0], np.ones(size)]
        assert locate_in_hull(np.append(np.zeros(size - 1), 0.5), corners, none, NEAR) == place
