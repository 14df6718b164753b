"""What moves: what creators drew is put in their place, and the bounds that they state are noted."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.search_variables import SearchVariable, VariableHost, scaled_incoming
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from tests.checks.build import point_of
from tests.checks.conftest import Check

GRAPH = "dims: {n: 3}, inputs: {x: 'randn(n)'}, graph: {h: exp(x), y: 1 / (1 + h ** 2)}"


def test_creators_give_what_they_are_given_and_their_bounds_are_noted() -> None:
    given = {SearchVariable("x", number): Tensor.wrap(np.full(3, float(number))) for number in range(3)}
    bounds: dict[SearchVariable, tuple[float, float]] = {}
    made = evaluate(parse("randn(3) + uniform(-2, 5, [3]) * rand(3)"), {}, VariableHost("x", given, bounds))
    assert made.data.tolist() == [2.0, 2.0, 2.0]
    assert bounds == {SearchVariable("x", 1): (-2.0, 5.0), SearchVariable("x", 2): (0.0, 1.0)}


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
