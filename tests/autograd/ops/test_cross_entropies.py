"""Cross entropies: large scores, ignored targets, empty batches, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from gradcheck import Tensor, ops
from gradcheck.errors import ArgumentError, DtypeMismatch, GradcheckError, IndexOutOfRange, ShapeMismatch
from tests.autograd.ops.both import agree_on_call, normal, refused_as_by_torch, told

SCORES, CLASSES = np.ones((2, 3)), np.array([0, 1])
LARGE = np.array([[1e4, -1e4, 3.0], [-1e4, -1e4 + 1, -1e4 + 2]])
REDUCTIONS = ["mean", "sum", "none"]


def test_it_is_stable_for_large_scores() -> None:
    assert np.isfinite(agree_on_call("cross_entropy", LARGE, np.array([1, 0]), reduction="none")).all()


def test_with_logits_it_is_stable_for_large_scores() -> None:
    scores, target = np.array([1e4, -1e4, 800.0, -800.0, 0.0]), np.array([0.0, 1.0, 1.0, 0.0, 0.5])
    value = agree_on_call("binary_cross_entropy_with_logits", scores, target, reduction="none")
    np.testing.assert_allclose(value[:2], 1e4)


def test_binary_cross_entropy_is_bounded_at_zero_and_one() -> None:
    probabilities, target = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    value = agree_on_call("binary_cross_entropy", probabilities, target, reduction="none")
    np.testing.assert_array_equal(value, [100, 100, 0, 0])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_every_target_may_be_ignored(reduction: str, smoothing: float) -> None:
    target = np.array([-100, -100])
    value = agree_on_call("cross_entropy", normal(2, 3), target, reduction=reduction, label_smoothing=smoothing)
    assert np.isnan(value).all() == (reduction == "mean")


@pytest.mark.parametrize("ignore", [0, 2, -1, 7])
def test_any_index_may_be_ignored(ignore: int) -> None:
    agree_on_call("cross_entropy", normal(4, 3), np.array([0, ignore, 2, 1]), ignore_index=ignore)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_empty_batches(reduction: str) -> None:
    agree_on_call("cross_entropy", normal(0, 3), np.zeros(0, np.int64), reduction=reduction)
    agree_on_call("cross_entropy", normal(0, 3), normal(0, 3), reduction=reduction)
    agree_on_call("binary_cross_entropy", normal(0, 3), normal(0, 3), reduction=reduction)


def test_weights_of_zero_for_all_targets_give_nan() -> None:
    weights = [0.0, 0.0, 1.0]
    got = ops.cross_entropy(Tensor(normal(2, 3)), Tensor(CLASSES), Tensor(weights))
    theirs = torch.tensor(weights, dtype=torch.float64)
    want = functional.cross_entropy(torch.tensor(normal(2, 3)), torch.tensor(CLASSES), theirs)
    assert np.isnan(got.data)
    assert torch.isnan(want)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_in_less_precision_it_keeps_its_dtype(dtype: type) -> None:
    scores = Tensor(normal(4, 3).astype(dtype), requires_grad=True)
    loss = ops.cross_entropy(scores, Tensor(np.array([0, 1, 2, 2])))
    loss.backward()
    assert loss.dtype == dtype
    assert scores.grad is not None
    assert scores.grad.dtype == dtype


WRONG: dict[str, tuple[type[GradcheckError], Callable[[], Any]]] = {
    "a class beyond the last": (IndexOutOfRange, lambda: ops.cross_entropy(SCORES, np.array([0, 3]))),
    "a class below the first": (IndexOutOfRange, lambda: ops.cross_entropy(SCORES, np.array([0, -1]))),
    "a class of nll_loss": (IndexOutOfRange, lambda: ops.nll_loss(SCORES, np.array([0, 3]))),
    "too few targets": (ShapeMismatch, lambda: ops.cross_entropy(SCORES, np.array([0]))),
    "too few weights": (ShapeMismatch, lambda: ops.cross_entropy(SCORES, CLASSES, np.ones(2))),
    "targets of another shape": (ShapeMismatch, lambda: ops.binary_cross_entropy(SCORES, np.ones(3))),
    "logits of another shape": (ShapeMismatch, lambda: ops.binary_cross_entropy_with_logits(SCORES, np.ones(3))),
    "scores without dimensions": (IndexOutOfRange, lambda: ops.cross_entropy(np.array(1.0), np.array(0))),
    "floating classes": (DtypeMismatch, lambda: ops.cross_entropy(SCORES, np.array([0.0, 1.0]))),
    "integer probabilities": (DtypeMismatch, lambda: ops.cross_entropy(SCORES, np.ones((2, 3), np.int64))),
    "smoothing beyond 1": (ArgumentError, lambda: ops.cross_entropy(SCORES, CLASSES, label_smoothing=1.5)),
}


test_errors_say_what_is_wrong = told(WRONG)


test_what_torch_refuses_is_refused_for_the_same_reason = pytest.mark.filterwarnings("ignore:Using a target size")(
    refused_as_by_torch(
        "cross_entropy(x, bad)",
        "cross_entropy(x, negative)",
        "cross_entropy(x, f)",
        "cross_entropy(x, i32)",
        "cross_entropy(x, z)",
        "cross_entropy(s, t)",
        "cross_entropy(x, t, f)",
        "cross_entropy(single, t, z)",
        "cross_entropy(integers, t)",
        "cross_entropy(x, integers)",
        "cross_entropy(x, t, reduction='avg')",
        "cross_entropy(x, t, label_smoothing=2)",
        "nll_loss(x, bad)",
        "nll_loss(X, t)",
        "binary_cross_entropy(5 * x, x)",
        "binary_cross_entropy(sigmoid(x), integers)",
        "binary_cross_entropy(sigmoid(x), z)",
        "binary_cross_entropy_with_logits(x, z)",
        "binary_cross_entropy_with_logits(x, x, pos_weight=f)",
    )
)
