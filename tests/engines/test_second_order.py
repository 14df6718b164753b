"""Gradients of gradients, by hand and in both engines."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines.core import Core
from gradcheck.engines.perturbation import Perturbation
from gradcheck.engines.second_order import last_pass, second_order
from gradcheck.engines.torch import Torch
from tests.from_text import problem_from

CUBES = "{inputs: {x: [1, 2], y: [3, 4]}, graph: {z: (x ** 3).sum() + y.sum()}}"
PROBES = {"x": np.array([1.0, 10.0]), "y": np.ones(2)}
ENGINES = pytest.mark.parametrize("engine", [Core(), Torch()], ids=["core", "torch"])


@ENGINES
def test_the_hessian_times_the_probe(engine: Core) -> None:
    found = second_order(engine, problem_from(CUBES), 0, PROBES)
    assert found.error is None
    assert found.first["x"].tolist() == [3, 12]
    assert found.second["x"].tolist() == [6, 120]
    assert found.first["y"].tolist() == [1, 1]
    assert found.second["y"] is None


@ENGINES
def test_earlier_forwards_count_and_earlier_passes_do_not(engine: Core) -> None:
    one = problem_from("""
        inputs: {x: [1, 2]}
        graph: {z: (x ** 3).sum()}
        steps: [backward: z, forward: {x: [2, 3]}, backward: z]
    """)
    assert last_pass(one) == 2
    found = second_order(engine, one, 2, {"x": np.ones(2)})
    assert (found.first["x"].tolist(), found.second["x"].tolist()) == ([12, 27], [12, 18])


def test_without_a_pass_that_succeeds_there_is_none() -> None:
    steps = "[{backward: y, raises: non_scalar_backward}]"
    assert last_pass(problem_from(f"{{inputs: {{x: [1, 2]}}, graph: {{y: x * x}}, steps: {steps}}}")) is None


def test_what_is_raised_is_told() -> None:
    found = second_order(
        Core(), problem_from("{inputs: {x: [1, 2]}, graph: {y: 'x @ ones(3, 3)'}, backward: y}"), 0, {}
    )
    assert found.error is not None
    assert (found.error.kind, found.first, found.second) == ("shape_mismatch", {}, {})


def test_perturbed_operations_move_it() -> None:
    perturbation = Perturbation(1e-3, np.random.default_rng(0))
    found = second_order(Core(), problem_from(CUBES), 0, PROBES, perturbation).second["x"]
    assert not np.array_equal(found, [6, 120])
    np.testing.assert_allclose(found, [6, 120], rtol=0.02)
