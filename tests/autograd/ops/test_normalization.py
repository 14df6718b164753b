"""Normalizations: vectors of zeros, running statistics, what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from gradcheck import Tensor, ops
from gradcheck.errors import ArgumentError, GradcheckError, ShapeMismatch
from tests.autograd.ops.both import agree_on_call, close, normal, refused_as_by_torch, told

ONES = np.ones((2, 3))


def test_vectors_without_spread() -> None:
    agree_on_call("normalize", np.zeros((2, 3)))
    agree_on_call("layer_norm", ONES, [3])
    agree_on_call("rms_norm", np.zeros((2, 3)), [3])


def test_an_empty_batch() -> None:
    agree_on_call("layer_norm", normal(0, 5), [5], normal(5), normal(5, seed=1))


@pytest.mark.parametrize("momentum", [0.1, 0.5])
def test_batch_norm_moves_its_running_statistics_in_place(momentum: float) -> None:
    batch, mean, var = normal(4, 3, 2), normal(3), np.abs(normal(3, seed=1))
    ours, theirs = [Tensor(mean), Tensor(var)], [torch.tensor(mean), torch.tensor(var)]
    ops.batch_norm(Tensor(batch, requires_grad=True), *ours, training=True, momentum=momentum)
    functional.batch_norm(torch.tensor(batch), *theirs, training=True, momentum=momentum)
    for mine, torchs in zip(ours, theirs, strict=True):
        close(mine.data, torchs.numpy(), 1e-14)


def test_batch_norm_leaves_them_alone_outside_of_training() -> None:
    mean, var = Tensor(normal(3)), Tensor(np.ones(3))
    before = mean.data.copy()
    ops.batch_norm(Tensor(normal(4, 3)), mean, var)
    np.testing.assert_array_equal(mean.data, before)
    np.testing.assert_array_equal(var.data, np.ones(3))


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(training: bool) -> None:
    stats = [Tensor(normal(3)), Tensor(np.ones(3))]
    theirs = [torch.tensor(s.data) for s in stats]

    def run(functions: Any, statistics: list[Any], *args: Any) -> Any:
        return functions.batch_norm(args[0], *statistics, *args[1:], training=training, eps=1e-3)

    arrays = normal(4, 3, 2), normal(3, seed=1), normal(3, seed=2)
    ours = [Tensor(a, requires_grad=True) for a in arrays]
    others = [torch.tensor(a, requires_grad=True) for a in arrays]
    got, want = run(ops, stats, *ours), run(functional, theirs, *others)
    close(got.data, want.detach().numpy(), 1e-12)
    seed = normal(4, 3, 2, seed=1)
    got.backward(seed)
    want.backward(torch.tensor(seed))
    for mine, torchs in zip(ours, others, strict=True):
        assert mine.grad is not None
        close(mine.grad.data, torchs.grad.numpy(), 1e-11)


WRONG: dict[str, tuple[type[GradcheckError], Callable[[], Any]]] = {
    "a normalized shape": (ShapeMismatch, lambda: ops.layer_norm(ONES, [2])),
    "a weight of layer_norm": (ShapeMismatch, lambda: ops.layer_norm(ONES, [3], np.ones(2))),
    "a size that is no list": (ArgumentError, lambda: ops.layer_norm(ONES, 3)),
    "one value a channel": (ShapeMismatch, lambda: ops.batch_norm(ONES[:1], None, None, training=True)),
    "no running statistics": (ArgumentError, lambda: ops.batch_norm(ONES, None, None)),
    "instances without places": (ShapeMismatch, lambda: ops.instance_norm(ONES)),
}


test_errors_say_what_is_wrong = told(WRONG)


test_what_torch_refuses_is_refused_for_the_same_reason = refused_as_by_torch(
    "layer_norm(x, [2])",
    "layer_norm(x, [3], f)",
    "layer_norm(single, [3], z)",
    "rms_norm(x, [2])",
    "batch_norm(x, None, None)",
    "batch_norm(x[:1], None, None, training=True)",
    "batch_norm(x, f, f)",
    "batch_norm(x, z, z, eps=-1.0)",
    "group_norm(x, 2)",
    "normalize(x, dim=2)",
)
