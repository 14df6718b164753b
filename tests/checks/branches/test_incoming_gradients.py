"""Larger and smaller incoming gradients, of those that are drawn alone."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.branches.incoming_gradients import scaled_incoming
from tests.checks.build import point_of
from tests.checks.conftest import Check

GRAPH = "dims: {n: 3}, inputs: {x: 'randn(n)'}, graph: {h: exp(x), y: 1 / (1 + h ** 2)}"


def test_what_is_drawn_is_multiplied() -> None:
    problem = point_of(f"{{{GRAPH}, backward: {{y: randn_like(y)}}}}").problem
    found = list(scaled_incoming(problem))
    factors = [float((one.seeds[0]["y"] / problem.seeds[0]["y"])[0]) for one in found]
    assert factors == pytest.approx([30, 1000, 0.001])
    assert all(np.array_equal(one.inputs["x"], problem.inputs["x"]) for one in found)


def test_the_opposite() -> None:
    problem = point_of(f"{{{GRAPH}, backward: {{y: randn_like(y)}}}}").problem
    (found,) = scaled_incoming(problem, (-1.0,))
    assert np.array_equal(found.seeds[0]["y"], -problem.seeds[0]["y"])


def test_what_is_written_out_is_not() -> None:
    assert not list(scaled_incoming(point_of(f"{{{GRAPH}, backward: {{y: ones_like(y)}}}}").problem))
    assert not list(scaled_incoming(point_of(f"{{{GRAPH}, backward: {{y: [1, 2, 3]}}}}").problem))


@pytest.mark.parametrize("formula", ["clamp(grad(h), -8, 8) * h", "where(abs(grad(h)) < 1e-4, 0 * x, grad(h) * h)"])
def test_a_gradient_of_the_graph_is_brought_beyond_a_threshold(check: Check, formula: str) -> None:
    stated = f"{GRAPH}, backward: {{y: randn_like(y)}}"
    assert check(f"{{{stated}, formulas: {{x: '{formula}'}}}}", explained=False).status == "failed"
    assert check(f"{{{stated}, formulas: {{x: 'grad(h) * h'}}}}", explained=False).status == "passed"
