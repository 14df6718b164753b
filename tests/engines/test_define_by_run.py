"""The base of define-by-run engines: a subclass of a few lines is an engine; one op alone; gradients of gradients."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

from gradcheck.autograd.backward import backward
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.random_rounding import Roundings
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application
from gradcheck.engines.core import Core, CoreHost
from gradcheck.engines.define_by_run import DefineByRun, OpRun, last_backward_step
from gradcheck.engines.rounding_core import RoundingCore
from gradcheck.engines.torch import Torch
from gradcheck.errors import ShapeMismatch, Unsupported
from tests.from_text import problem_from

FLOAT64 = np.dtype(np.float64)
X = np.array([[1.0, 5.0], [7.0, 3.0]])
CUBES = "{inputs: {x: [1, 2], y: [3, 4]}, graph: {z: (x ** 3).sum() + y.sum()}}"
PROBES = {"x": np.array([1.0, 10.0]), "y": np.ones(2)}
ENGINES = pytest.mark.parametrize("engine", [Core(), Torch()], ids=["core", "torch"])


class Small(DefineByRun):
    name = "small"
    tensor_type = Tensor

    def __init__(self) -> None:
        self.host = CoreHost()
        self.passes: list[int] = []

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        return nullcontext()

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Tensor:
        tensor = Tensor.wrap(array.copy())
        tensor.requires_grad = requires_grad
        return tensor

    def array(self, tensor: Tensor) -> np.ndarray:
        return tensor.data

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        self.passes.append(len(roots))
        backward(roots, seeds, retain_graph=retain_graph)
        if any(seed is not None and np.isnan(seed).any() for seed in seeds):
            raise ShapeMismatch("not a number, which is found out too late")


def test_a_subclass_must_provide_a_backend() -> None:
    class Lacking(DefineByRun):
        name = "lacking"

    with pytest.raises(TypeError, match=r"array.*backward.*leaf.*tensor_type"):
        Lacking()


def test_it_evaluates_cases() -> None:
    (state,) = Small().evaluate(problem_from("{inputs: {x: [1, 2]}, graph: {y: (x * x).sum()}}")).states
    assert state.gradients["x"].tolist() == [2, 4]


def test_ops_are_pulled_back_in_one_pass() -> None:
    engine = Small()
    applications = [Application(TABLE[name], (np.zeros(2),), {}, "y") for name in ("exp", "sin", "cos")]
    found = engine.pull_back(applications, [[np.ones(2)]] * 3, FLOAT64)
    assert [pullback.gradients[0].tolist() for pullback in found] == [[1, 1], [1, 1], [0, 0]]
    assert engine.passes == [3]


def test_where_that_raises_each_is_pulled_back_alone() -> None:
    engine = Small()
    applications = [Application(TABLE[name], (np.zeros(2),), {}, "y") for name in ("exp", "sin")]
    right, wrong = engine.pull_back(applications, [[np.ones(2)], [np.full(2, np.nan)]], FLOAT64)
    assert engine.passes == [2, 1, 1]
    assert (right.error, right.gradients[0].tolist()) == (None, [1, 1])
    assert wrong.error is not None
    assert (wrong.error.kind, wrong.gradients) == ("shape_mismatch", (None,))


def test_gradients_of_gradients_are_not_to_be_had_unless_it_says_so() -> None:
    with pytest.raises(Unsupported, match="small has no gradients of gradients"):
        Small().differentiate([], [], [])


# One op alone -------------------------------------------------------------------------------------


def test_tracked_arrays_become_leaves_and_get_gradients() -> None:
    run = OpRun(Core(), Application(TABLE["mul"], (X, X.copy()), {}, "y", tracked=(False, True)), [np.ones((2, 2))])
    assert len(run.leaves) == len(run.roots) == 1
    run.backward()
    (gradient,) = run.pullback().gradients
    np.testing.assert_array_equal(gradient, X)


def test_an_index_is_no_leaf() -> None:
    run = OpRun(Core(), Application(TABLE["index_select"], (X, 0, np.array([1])), {}, "y"), [np.ones((1, 2))])
    run.backward()
    assert [gradient.tolist() for gradient in run.pullback().gradients] == [[[0, 0], [1, 1]]]


def test_outputs_without_a_cotangent_are_no_roots() -> None:
    run = OpRun(Core(), Application(TABLE["max"], (X, 1), {}, "y"), [np.ones(2), None])
    assert len(run.roots) == 1
    run.backward()
    assert run.pullback().gradients[0].tolist() == [[0, 1], [1, 0]]


def test_of_several_outputs_those_with_a_cotangent_are_roots() -> None:
    run = OpRun(Core(), Application(TABLE["split"], (X, 1), {}, "y"), [None, np.ones((1, 2))])
    run.backward()
    assert run.pullback().gradients[0].tolist() == [[0, 0], [1, 1]]


def test_forgetting_what_a_pass_with_others_left() -> None:
    run = OpRun(Core(), Application(TABLE["exp"], (np.zeros(2),), {}, "y"), [np.ones(2)])
    run.backward()
    run.clear_gradients()
    run.backward()
    assert run.pullback().gradients[0].tolist() == [1, 1]


def test_what_the_forward_raises_is_the_error() -> None:
    run = OpRun(Core(), Application(TABLE["add"], (np.ones(2), np.ones(3)), {}, "y"), [np.ones(2)])
    run.backward()
    found = run.pullback()
    assert found.error is not None
    assert (found.error.kind, found.gradients, found.in_forward) == ("shape_mismatch", (None, None), True)


def test_what_the_pass_raises_is_the_error() -> None:
    run = OpRun(Core(), Application(TABLE["exp"], (np.zeros(2),), {}, "y"), [np.ones(3)])
    run.backward()
    found = run.pullback()
    assert found.error is not None
    assert (found.gradients, found.in_forward) == ((None,), False)


# Gradients of gradients ---------------------------------------------------------------------------


@ENGINES
def test_the_hessian_times_the_probe(engine: Core) -> None:
    found = engine.second_order(problem_from(CUBES), 0, PROBES)
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
    assert last_backward_step(one) == 2
    found = engine.second_order(one, 2, {"x": np.ones(2)})
    assert (found.first["x"].tolist(), found.second["x"].tolist()) == ([12, 27], [12, 18])


def test_without_a_pass_that_succeeds_there_is_none() -> None:
    steps = "[{backward: y, raises: non_scalar_backward}]"
    assert last_backward_step(problem_from(f"{{inputs: {{x: [1, 2]}}, graph: {{y: x * x}}, steps: {steps}}}")) is None


def test_what_is_raised_is_told() -> None:
    found = Core().second_order(problem_from("{inputs: {x: [1, 2]}, graph: {y: 'x @ ones(3, 3)'}, backward: y}"), 0, {})
    assert found.error is not None
    assert (found.error.kind, found.first, found.second) == ("shape_mismatch", {}, {})


def test_random_roundings_move_it() -> None:
    engine = RoundingCore(Roundings(np.random.default_rng(0)))
    problem = problem_from(CUBES.replace("[1, 2]", "[1.1, 2.3]"))
    found, still = (one.second_order(problem, 0, PROBES).second["x"] for one in (engine, Core()))
    assert found is not None
    assert still is not None
    assert not np.array_equal(found, still)
    np.testing.assert_allclose(found, still, rtol=1e-14)
