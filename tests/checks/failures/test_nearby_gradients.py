"""Gradients close to a point, of a whole case and of one op."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.claims.cotangents import operations_of
from gradcheck.checks.failures.nearby_gradients import GraphNearbyGradients, OpNearbyGradients
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import WrongOperation
from tests.checks.build import context_of

RELU = "{inputs: {x: [0, 1, -1]}, graph: {y: relu(x), loss: (3 * y).sum()}}"


def graph(text: str) -> tuple[Point, GraphNearbyGradients]:
    point = context_of(text).points.own
    return point, GraphNearbyGradients(point, 0)


def test_inputs_are_moved_to_either_side() -> None:
    _, near = graph(RELU)
    moves = near.moves({"x": np.array([1.0, 0, 0])})
    sides = [near.gradients({name: part * move for name, move in moves.items()}) for part in (1.0, -1.0)]
    assert [side and side["x"].tolist() for side in sides] == [[3, 3, 0], [0, 3, 0]]


def test_moves_are_parts_of_the_numbers_and_none_stands_still() -> None:
    _, near = graph("{inputs: {x: [0, 1000, -1e-6]}, graph: {loss: x.sum()}}")
    moves = near.moves({"x": np.array([0.0, 1.0, 1.0])})["x"]
    assert np.all(moves != 0)
    assert np.all(np.abs(moves) <= 2 * near.distance * np.array([1000, 1000, 1e-6]))


def test_an_entry_is_moved_whatever_it_is_made_of() -> None:
    _, near = graph("{inputs: {x: [2]}, graph: {s: x - x, loss: relu(s).sum()}}")
    moves = near.moves({"s": np.array([1.0])})
    found = [near.gradients({"s": part * moves["s"]}) for part in (1.0, -1.0)]
    assert [one and one["s"].tolist() for one in found] == [[1], [0]]


def test_differences_of_the_forward_bear_gradients_out() -> None:
    assert graph(RELU)[1].is_believable()
    _, near = graph("{inputs: {x: [0.5, 1]}, graph: {loss: (x * x).sum()}}")
    right = near.gradients
    near.gradients = lambda moves: {n: 2 * g for n, g in (right(moves) or {}).items()}  # type: ignore[method-assign]
    assert not near.is_believable()


def test_an_op_alone() -> None:
    context = context_of(RELU)
    point = context.points.own
    operation = operations_of(point.applications, 0)[0]
    reference = point.engines.reference
    pullback = reference.pull_back([operation.application], [operation.cotangents], np.dtype(np.float64))[0]
    near = OpNearbyGradients(WrongOperation(0, operation, 0, reference, pullback, pullback), reference, 0)
    moves = near.moves({"0": np.array([1.0, 0, 0])})
    there, behind = near.gradients(moves), near.gradients({"0": -moves["0"]})
    assert there is not None
    assert behind is not None
    assert (there["0"][0], behind["0"][0]) == (operation.cotangents[0][0], 0)  # type: ignore[index]
