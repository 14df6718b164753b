"""One op alone: its leaves, where a pass starts, what it raises."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.core import Core
from gradcheck.engines.op_run import OpRun

X = np.array([[1.0, 5.0], [7.0, 3.0]])


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
    run.forget()
    run.backward()
    assert run.pullback().gradients[0].tolist() == [1, 1]


def test_what_the_forward_raises_is_the_error() -> None:
    run = OpRun(Core(), Application(TABLE["add"], (np.ones(2), np.ones(3)), {}, "y"), [np.ones(2)])
    run.backward()
    found = run.pullback()
    assert found.error is not None
    assert (found.error.kind, found.gradients) == ("shape_mismatch", (None, None))


def test_what_the_pass_raises_is_the_error() -> None:
    run = OpRun(Core(), Application(TABLE["exp"], (np.zeros(2),), {}, "y"), [np.ones(3)])
    run.backward()
    found = run.pullback()
    assert found.error is not None
    assert found.gradients == (None,)
