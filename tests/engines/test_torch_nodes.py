"""torch's recorded functions, asked one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Pullback
from gradcheck.engines.core import applications_of
from gradcheck.engines.recording import RecordedCall
from gradcheck.engines.torch import Torch, TorchHost
from gradcheck.engines.torch_nodes import pull_back_by_nodes
from tests.from_text import problem_from

TEXT = """
inputs: {x: 'randn(3, 3)', w: 'randn(3, 3)', b: 'randn(3)', k: 'randn(3, 1)'}
constants: {c: 'randn(3, 3)'}
graph: {p: x @ w, q: p + b, r: 'q * k - c', s: 'softmax(r, dim=1)', t: 'cat([s, p], 0)', u: 't[1:] ** 2',
        v: '(x.T * x).exp()', loss: u.sum() + v.mean()}
"""


def test_nodes_give_what_a_backward_pass_gives_and_in_the_shapes_of_the_tensors() -> None:
    engine, problem = Torch(), problem_from(TEXT)
    recorder = engine.recorder()
    assert recorder is not None
    engine.evaluate(problem, recorder=recorder)
    applications = applications_of(problem)
    assert [one.op for one in applications] == [call.op for call in recorder.calls]
    generator = np.random.default_rng(0)
    cotangents = [generator.standard_normal(call.result.shape) for call in recorder.calls]
    want = engine.pull_back(applications, [[one] for one in cotangents], problem.dtype)
    for application, found, right in zip(
        applications, pull_back_by_nodes(recorder.calls, cotangents), want, strict=True
    ):
        assert found is not None, application.op.name
        for a, b in zip(found, right.gradients, strict=True):
            assert b is not None
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def call_of(name: str, *args: object, **kwargs: object) -> RecordedCall:
    return RecordedCall(TABLE[name], args, kwargs, TorchHost().call(TABLE[name], args, kwargs), "y")


@pytest.mark.parametrize("what", ["composed", "constant", "several", "named", "dtype", "shape"])
def test_what_is_not_one_function_of_the_record_is_not_known(what: str) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    ones = np.ones((2, 2))
    call, cotangent = {
        "composed": (call_of("div", 2.0, x), ones),  # torch makes two functions of it
        "constant": (call_of("exp", x.detach()), ones),
        "several": (call_of("max", x, 1), np.ones(2)),
        "named": (call_of("add", x, other=x), ones),
        "dtype": (call_of("exp", x), ones.astype(np.float32)),
        "shape": (call_of("exp", x), np.ones(2)),
    }[what]
    assert pull_back_by_nodes([call], [cotangent]) == [None]


def test_a_record_whose_values_are_freed_says_nothing() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    call = call_of("exp", x)
    call.result.sum().backward()
    assert pull_back_by_nodes([call], [np.ones(2)]) == [None]


def test_whoever_is_no_plain_torch_keeps_no_record() -> None:
    class Other(Torch):
        def pull_back(self, *asked: Any) -> list[Pullback]:
            return []

    assert Other().recorder() is None
    assert Other().pull_back_recorded([call_of("exp", torch.ones(2, requires_grad=True))], [np.ones(2)]) == [None]
