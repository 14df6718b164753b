"""Tangents of everything that is computed, by one complex step or by differences."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import GradcheckError
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_tangents import tangents_of_graph, tangents_of_operation
from tests.from_text import problem_from


def tangents(text: str, **directions: list[float]) -> dict[str, Estimate]:
    return tangents_of_graph(problem_from(text), {name: np.array(way) for name, way in directions.items()})


def test_one_complex_step_serves_every_analytic_tensor() -> None:
    found = tangents("{inputs: {x: [1.0, 2.0], w: [3.0, -1.0]}, graph: {y: x * w, z: exp(y), s: z.sum()}}",
                     x=[1, 0], w=[0, 2])  # fmt: skip
    assert {one.method for one in found.values()} == {"complex step"}
    np.testing.assert_allclose(found["y"].value, [3, 4])
    np.testing.assert_allclose(found["s"].value, 3 * np.exp(3) + 4 * np.exp(-2), rtol=1e-14)
    assert float(found["s"].error) < 1e-10


def test_what_is_not_analytic_and_what_is_behind_it_is_told_by_differences() -> None:
    found = tangents("{inputs: {x: [1.5, -2.0]}, graph: {y: x * x, a: abs(y - 3), z: sin(a), b: exp(x)}}", x=[1, 1])
    assert {name: one.method for name, one in found.items()} == {
        "y": "complex step", "b": "complex step", "a": "differences", "z": "differences",
    }  # fmt: skip
    np.testing.assert_allclose(found["z"].value, [-3 * np.cos(0.75), -4 * np.cos(1)], rtol=1e-9)
    assert (np.abs(found["z"].value - [-3 * np.cos(0.75), -4 * np.cos(1)]) <= found["z"].error).all()


def test_kinks_and_jumps_have_two_sides() -> None:
    found = tangents("{inputs: {x: [0.0, 1.0]}, graph: {y: relu(x), s: sign(x)}}", x=[2, 3])
    assert found["y"].kinked.tolist() == [True, False]
    np.testing.assert_allclose([found["y"].left, found["y"].right], [[0, 3], [2, 3]], atol=1e-9)
    assert found["s"].kinked.tolist() == [True, False]
    assert np.isinf(found["s"].error[0])


def test_where_the_value_is_no_number_anything_may_be_said() -> None:
    found = tangents("{inputs: {x: [0.0, 1.0]}, graph: {y: log(x - 0.5)}}", x=[1, 1])
    assert found["y"].kinked.tolist() == [True, False]
    assert np.isinf(found["y"].error[0])


def test_parts_have_names_and_what_does_not_move_has_none() -> None:
    found = tangents("{inputs: {x: [1.0, 3.0]}, constants: {c: [2.0]}, "
                     "graph: {m: 'max(x, dim=0)', k: c * 2, d: detach(x) * x}}", x=[1, 5])  # fmt: skip
    assert sorted(found) == ["d", "m[0]"]
    np.testing.assert_allclose(found["m[0]"].value, 5)
    np.testing.assert_allclose(found["d"].value, [1, 15])


def test_of_a_complex_number_that_becomes_real_a_part_is_lost() -> None:
    problem = problem_from("{dtype: complex128, inputs: {z: ['1+2j']}, graph: {y: 'z.to(torch.float64) ** 2'}}")
    found = tangents_of_graph(problem, {"z": np.array([1 + 5j])})
    np.testing.assert_allclose(found["y"].value, [2.0], rtol=1e-9)


def test_a_graph_that_cannot_be_evaluated_raises() -> None:
    with pytest.raises(GradcheckError):
        tangents("{inputs: {x: [1.0, 2.0]}, graph: {y: 'x.reshape(3)'}}", x=[1, 1])


def test_an_op_alone_by_the_numbers_of_its_outputs() -> None:
    x, w = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
    moving, ways = [x, w], [np.ones((1, 2)), np.zeros((2, 1))]
    found = tangents_of_operation(TABLE["matmul"], lambda moved: (tuple(moved), {}), moving, ways)
    np.testing.assert_allclose(found["0"].value, [[7.0]])
