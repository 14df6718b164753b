"""Losses of numbers: kinks, infinities, empty batches, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck import ops
from gradcheck.errors import ArgumentError, GradcheckError, ShapeMismatch
from tests.autograd.ops.both import agree_on_call, is_too_large, normal, refused_as_by_torch, told

ONES = np.ones((2, 3))


@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
def test_huber_at_its_kinks_and_at_infinity(name: str) -> None:
    errors = np.array([1.0, -1.0, 0.0, 1 + 1e-12, np.inf, -np.inf, 1e300])
    agree_on_call(name, errors, np.zeros(7), reduction="none")


def test_kl_div_where_the_target_is_zero() -> None:
    agree_on_call("kl_div", normal(3), np.array([0.0, 0.25, 0.75]), reduction="none")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_empty_batches(reduction: str) -> None:
    agree_on_call("mse_loss", normal(0, 3), normal(0, 3), reduction=reduction)
    agree_on_call("kl_div", normal(0, 3), normal(0, 3), reduction=reduction)


def test_a_weighted_mean_divides_by_the_weights_but_that_of_huber_by_their_number() -> None:
    input, target, weight = np.array([1.0, 3.0]), np.zeros(2), np.array([3.0, 1.0])
    assert ops.mse_loss(input, target, weight=weight) == (3 * 1 + 9) / 4
    assert ops.huber_loss(input, target, delta=10.0, weight=weight) == (3 * 1 + 9) / 2 / 2


def test_the_gradient_passes_the_bound_of_a_variance() -> None:
    """The variance is at least `eps`, but its gradient passes, as in torch."""
    agree_on_call("gaussian_nll_loss", normal(3), normal(3, seed=1), np.array([1.0, 1e-9, 2.0]))


def test_a_margin_is_kept_or_not() -> None:
    anchor, near, far = np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.array([[5.0, 0.0]])
    assert ops.triplet_margin_loss(anchor, near, far, eps=0.0) == 0
    assert ops.triplet_margin_loss(anchor, far, near, eps=0.0) == 5
    assert ops.margin_ranking_loss(np.array([2.0]), np.array([1.5]), np.array([1.0]), 1.0) == 0.5
    agree_on_call("soft_margin_loss", normal(3), np.array([1, -1, 1]))


WRONG: dict[str, tuple[type[GradcheckError], Callable[[], Any]]] = {
    "weights of another shape": (ShapeMismatch, lambda: ops.mse_loss(ONES, ONES, weight=np.ones(3))),
    "a reduction": (ArgumentError, lambda: ops.mse_loss(ONES, ONES, reduction="avg")),
    "batchmean elsewhere": (ArgumentError, lambda: ops.mse_loss(ONES, ONES, reduction="batchmean")),
    "a negative beta": (ArgumentError, lambda: ops.smooth_l1_loss(ONES, ONES, beta=-1.0)),
    "a delta of zero": (ArgumentError, lambda: ops.huber_loss(ONES, ONES, delta=0.0)),
    "a legacy argument": (ArgumentError, lambda: ops.mse_loss(ONES, ONES, True)),
    "a margin of zero": (ArgumentError, lambda: ops.triplet_margin_loss(ONES, ONES, ONES, margin=0.0)),
    "targets of more dimensions": (ShapeMismatch, lambda: ops.margin_ranking_loss(ONES, ONES, np.ones(3))),
    "embeddings without vectors": (ShapeMismatch, lambda: ops.cosine_embedding_loss(ONES, ONES, ONES)),
    "a variance of another shape": (ShapeMismatch, lambda: ops.gaussian_nll_loss(ONES, ONES, np.ones(3))),
}


test_errors_say_what_is_wrong = told(WRONG)


test_what_torch_refuses_is_refused_for_the_same_reason = pytest.mark.filterwarnings("ignore:Using a target size")(
    refused_as_by_torch(
        "mse_loss(x, f)",
        "huber_loss(x, x, delta=-1)",
        "smooth_l1_loss(x, x, beta=-1.0)",
        "kl_div(x, x, reduction='foo')",
    )
)


def test_nothing_grows_beyond_bounds() -> None:
    assert is_too_large("mse_loss(x, y.T)")
