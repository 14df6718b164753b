"""A case at a random point: forward values, derivatives along directions, and the values of formulas."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.graph import GraphAtPoint
from tests.oracles.exact.small import claim, problem


def at_point(of: Problem, number: int = 0) -> GraphAtPoint:
    return GraphAtPoint(of, Dependencies(of), number, 0)


SQUARES = {"h": "x * x", "y": "(h * w).sum()"}


def test_forward_values_and_their_derivative() -> None:
    """y is the sum of x x w; along the direction v of x alone it changes by 2 x v w."""
    graph = at_point(problem({"x": (3,), "w": (3,)}, SQUARES))
    derivative = graph.derivative({"x"})
    prime, x, w = graph.point.prime, graph.leaves["x"].value, graph.leaves["w"].value
    assert np.array_equal(graph.values["h"].value, x * x % prime)
    assert graph.values["h"].tangent is None
    v = graph.directions["x"].vectors[0]
    assert int(derivative.value) == sum(2 * int(a) * int(b) * int(c) for a, b, c in zip(x, v, w, strict=True)) % prime
    assert set(graph.directions) == {"x"}


def test_directions_of_several_tensors_add_up() -> None:
    graph = at_point(problem({"x": (3,), "w": (3,)}, SQUARES))
    each = [int(graph.derivative({name}).value) for name in ("x", "w", "h")]
    assert int(graph.derivative({"x", "w", "h"}).value) == sum(each) % graph.point.prime


def test_points_differ_and_repeat() -> None:
    of = problem({"x": (3,)}, {"y": "x.sum()"})
    first, again, other = at_point(of), at_point(of), at_point(of, 1)
    assert np.array_equal(first.leaves["x"].value, again.leaves["x"].value)
    assert first.point.prime != other.point.prime


def test_claims_are_evaluated_with_gradients_and_steps() -> None:
    of = problem({"x": (2,)}, {"h": "x * x", "y": "h.sum()"}, let={"twice": "2 * x"})
    graph = at_point(of)
    graph.derivative({"x"})
    claimed = graph.claimed("x", claim("twice * grad(h)").expr)
    assert np.array_equal(claimed.value, 2 * graph.leaves["x"].value % graph.point.prime)
    assert set(graph.gradients) == {"h", "y"}
    with pytest.raises(ShapeMismatch, match=r"shape \(\), its tensor \(2,\)"):
        graph.claimed("x", claim("x.sum()").expr)


def test_parts_of_several_outputs_have_directions_of_their_own() -> None:
    graph = at_point(problem({"x": (4,)}, {"m": "split(x, 2)", "y": "(m[0] * m[1]).sum()"}))
    graph.derivative({"m[0]", "m[1]"})
    assert graph.directions["m[0]"].shape == (2,)
    for missing in ("m[2]", "m", "y[0]"):
        with pytest.raises(Unsupported, match="no tensor of real numbers"):
            graph.derivative({missing})
