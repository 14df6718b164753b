"""A case at a point: its directions, its derivative, and what formulas claim."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.dual_numbers import Dual
from gradcheck.oracles.exact.graph_at_point import Direction, GraphAtPoint, PointSettings, scalar
from tests.oracles.exact.calls import PRIME, point
from tests.oracles.exact.small import claim, problem

assert ops


def at_point(of: Problem, number: int = 0) -> GraphAtPoint:
    return GraphAtPoint(Dependencies(of), PointSettings(number=number))


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
    claimed = graph.claimed_value("x", claim("twice * grad(h)").expr)
    assert np.array_equal(claimed.value, 2 * graph.leaves["x"].value % graph.point.prime)
    assert set(graph.gradients) == {"h", "y"}
    with pytest.raises(ShapeMismatch, match=r"shape \(\), its tensor \(2,\)"):
        graph.claimed_value("x", claim("x.sum()").expr)


def test_parts_of_several_outputs_have_directions_of_their_own() -> None:
    graph = at_point(problem({"x": (4,)}, {"m": "split(x, 2)", "y": "(m[0] * m[1]).sum()"}))
    graph.derivative({"m[0]", "m[1]"})
    assert graph.directions["m[0]"].shape == (2,)
    for missing in ("m[2]", "m", "y[0]"):
        with pytest.raises(Unsupported, match="no tensor of real numbers"):
            graph.derivative({missing})


SHAPES = [(), (5,), (3, 4), (2, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_inner_product_is_with_the_tangent_that_is_added(shape: tuple[int, ...]) -> None:
    at = point()
    direction = Direction(at, np.random.default_rng(0), shape)
    values = np.random.default_rng(1).integers(0, PRIME, shape)
    tangent = direction.added_to(Dual(at, np.asarray(values))).tangent
    assert tangent is not None
    assert tangent.shape == shape
    want = int(np.sum(np.asarray(values, dtype=object) * tangent)) % PRIME
    found = direction.inner(Dual(at, np.asarray(values)))
    assert int(found.value) == want
    assert found.degree.numerator == 1 + max(1, len(shape))


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_no_element_is_left_out(shape: tuple[int, ...]) -> None:
    at = point()
    direction = Direction(at, np.random.default_rng(0), shape)
    for index in np.ndindex(shape):
        error = np.zeros(shape, dtype=np.int64)
        error[index] = 1
        assert direction.inner(Dual(at, error)).value != 0


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_added_to_a_tangent_that_is_there(shape: tuple[int, ...]) -> None:
    at = point()
    direction = Direction(at, np.random.default_rng(0), shape)
    zeros = np.zeros(shape, dtype=np.int64)
    alone = direction.added_to(Dual(at, zeros)).tangent
    both = direction.added_to(Dual(at, zeros, zeros + 7, Degree(1, 1, 2)))
    assert alone is not None
    assert np.array_equal(both.tangent, (alone + 7) % PRIME)
    assert both.degree.tangent == max(1, len(shape)) + 1


def test_scalars() -> None:
    x = scalar(Dual(point(), np.array([[5]]), None, Degree(3)))
    assert (x.shape, int(x.value), x.degree) == ((), 5, Degree(3))
