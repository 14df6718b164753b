"""gradcheck's own tensors as an engine: what is recorded, and rules that are called at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines import core
from gradcheck.engines.base import Application, Pullback
from gradcheck.engines.core import Core, CoreHost, applications_of
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.recording import Recorder
from gradcheck.errors import ShapeMismatch
from tests.from_text import problem_from

FLOAT64 = np.dtype(np.float64)
TEXT = "{inputs: {x: [1, 2], y: [3, 4]}, graph: {z: x * y + y, loss: z.sum()}}"


def test_an_op_that_hands_its_argument_back_gives_a_tensor_of_its_own() -> None:
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    assert TABLE["atleast_2d"](x) is x
    result = CoreHost().call(TABLE["atleast_2d"], (x,), {})
    assert result is not x
    assert result.data.tolist() == [[1, 2]]


def test_numbers_alone_give_a_tensor() -> None:
    assert type(CoreHost().call(TABLE["zeros"], ((2,),), {})) is Tensor
    assert CoreHost().dtype("float32") == np.float32


def test_the_ops_of_a_graph() -> None:
    found = applications_of(problem_from(TEXT))
    assert [(one.op.name, one.owner, one.tracked) for one in found] == [
        ("mul", "z", (True, True)),
        ("add", "z", (True, True)),
        ("sum", "loss", (True,)),
    ]
    assert found[0].args[1].tolist() == [3, 4]
    assert applications_of(problem_from("{inputs: {x: [1, 2]}, graph: {y: 'x @ ones(3, 3)'}, backward: y}")) == []


def test_an_evaluation_is_recorded_where_that_is_asked_for() -> None:
    recorder = Core().recorder()
    assert recorder is not None
    assert not recorder.closed
    assert Core().evaluate(problem_from(TEXT), recorder=recorder).states
    assert recorder.closed
    assert len(recorder.applications()) == 3


def test_the_rules_of_a_record_give_what_a_sweep_does() -> None:
    core, recorder = Core(), Core().recorder()
    assert recorder is not None
    core.evaluate(problem_from(TEXT), recorder=recorder)
    cotangents = [np.full(call.result.shape, 0.5) for call in recorder.calls]
    slow = DefineByRun.pull_back(core, applications_of(problem_from(TEXT)), [[one] for one in cotangents], FLOAT64)
    for shares, other in zip(core.pull_back_recorded(recorder.calls, cotangents), slow, strict=True):
        assert shares is not None
        for a, b in zip(shares, other.gradients, strict=True):
            np.testing.assert_array_equal(a, b)


def test_whoever_pulls_back_otherwise_has_no_record_to_go_by() -> None:
    class Other(Core):
        def pull_back(self, *asked: Any) -> list[Pullback]:
            return []

    recorder = Recorder(CoreHost())
    Core().evaluate(problem_from(TEXT), recorder=recorder)
    assert Other().pull_back_recorded(recorder.calls[:1], [np.ones((2, 2))]) == [None]


def test_what_was_recorded_is_pulled_back_as_by_a_sweep() -> None:
    applications = applications_of(problem_from(TEXT))
    assert all(one.recorded is not None for one in applications)
    cotangents = [[np.full(shape, 0.5) for shape, _ in one.outputs] for one in applications]
    fast = Core().pull_back(applications, cotangents, FLOAT64)
    slow = DefineByRun.pull_back(Core(), applications, cotangents, FLOAT64)
    for one, other in zip(fast, slow, strict=True):
        assert len(one.gradients) == len(other.gradients) > 0
        for a, b in zip(one.gradients, other.gradients, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_error_of_a_rule_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise ShapeMismatch("no such gradient")

    (application,) = applications_of(problem_from("{inputs: {x: [1, 2]}, graph: {y: exp(x)}, backward: {y: [1, 1]}}"))
    monkeypatch.setattr(core, "pull_arrays", refuses)
    (found,) = Core().pull_back([application], [[np.ones(2)]], FLOAT64)
    assert found.error is not None
    assert (found.error.kind, found.gradients) == ("shape_mismatch", (None,))


def test_ops_that_were_not_recorded_run_again() -> None:
    x = np.array([1.0, 2.0])
    one = Application(TABLE["mul"], (x, 3.0), {}, "y")
    other = Application(TABLE["exp"], (x,), {}, "z")
    found = Core().pull_back([replace(one), other], [[np.ones(2)], [np.ones(2)]], FLOAT64)
    assert [pullback.gradients[0].tolist() for pullback in found] == [[3, 3], ops.exp(x).tolist()]
