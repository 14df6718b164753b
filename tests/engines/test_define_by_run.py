"""The base of define-by-run engines: a subclass of a few lines is an engine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

from gradcheck.autograd.backward import backward
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application
from gradcheck.engines.core import CoreHost
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.errors import ShapeMismatch, Unsupported
from tests.from_text import problem_from

FLOAT64 = np.dtype(np.float64)


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

    with pytest.raises(TypeError, match=r"array.*backward.*leaf.*session.*tensor_type"):
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
