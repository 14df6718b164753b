"""Layers and attention: empty batches, masks, paddings, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from gradcheck import ops
from gradcheck.errors import ArgumentError, DtypeMismatch, GradcheckError, IndexOutOfRange, ShapeMismatch, Unsupported
from tests.autograd.ops.both import agree_on_call, is_too_large, normal, refused_as_by_torch, told

ONES, CLASSES = np.ones((2, 3)), np.array([0, 1])


def test_empty_batches() -> None:
    agree_on_call("linear", normal(0, 3), normal(4, 3), normal(4))
    agree_on_call("embedding", np.zeros((0, 2), np.int64), normal(3, 4))
    agree_on_call("scaled_dot_product_attention", normal(0, 2, 4), normal(0, 3, 4), normal(0, 3, 4, seed=1))


def reference_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, **settings: Any) -> Any:
    """torch's own path without fused kernels, which mask as documented."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask, **settings)


@pytest.mark.parametrize("settings", [{}, {"is_causal": True}, {"scale": 0.3}, {"scale": 0.3, "is_causal": True}])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_attention(lead: tuple[int, ...], settings: dict[str, Any]) -> None:
    query, key, value = normal(*lead, 3, 4), normal(*lead, 5, 4), normal(*lead, 5, 2)
    agree_on_call("scaled_dot_product_attention", query, key, value, theirs=reference_attention, **settings)


@pytest.mark.parametrize(
    "mask",
    [
        np.array([[True, False, True], [False, True, True]]),
        np.array([[True, False, True], [False, False, False]]),
        np.array([[True], [False]]),
        np.array([[0.0, -np.inf, 1.0], [-np.inf, -np.inf, -np.inf]]),
        np.array([[0.5, -1.0, 1.0], [2.0, 0.0, 0.25]]),
    ],
)
def test_attention_with_a_mask(mask: np.ndarray) -> None:
    arrays = normal(2, 4), normal(3, 4), normal(3, 4, seed=1)
    value = agree_on_call("scaled_dot_product_attention", *arrays, mask, theirs=reference_attention)
    assert not np.isnan(value).any()


def test_embedding_keeps_the_gradient_from_its_padding() -> None:
    agree_on_call("embedding", np.array([[0, 2], [2, 1]]), normal(3, 4), padding_idx=2)
    agree_on_call("embedding", np.array([[0, 2], [2, 1]]), normal(3, 4), padding_idx=-3)


def test_one_hot() -> None:
    classes = np.array([[0, 2], [1, 2]])
    for count in (-1, 3, 5):
        want = functional.one_hot(torch.tensor(classes), count).numpy()
        np.testing.assert_array_equal(ops.one_hot(classes, count), want)


def test_dropout_that_drops_nothing_or_everything() -> None:
    np.testing.assert_array_equal(ops.dropout(ONES, 0.5, training=False), ONES)
    np.testing.assert_array_equal(ops.dropout(ONES, 1.0), 0 * ONES)


attention = ops.scaled_dot_product_attention
WRONG: dict[str, tuple[type[GradcheckError], Callable[[], Any]]] = {
    "a word beyond the last": (IndexOutOfRange, lambda: ops.embedding(np.array([3]), ONES.T)),
    "a word below the first": (IndexOutOfRange, lambda: ops.embedding(np.array([-1]), ONES)),
    "a padding that is no word": (IndexOutOfRange, lambda: ops.embedding(CLASSES, ONES, 2)),
    "floating words": (DtypeMismatch, lambda: ops.embedding(np.array([0.0]), ONES)),
    "one_hot beyond": (IndexOutOfRange, lambda: ops.one_hot(np.array([2]), 2)),
    "sizes of queries and keys": (ShapeMismatch, lambda: attention(ONES, np.ones((2, 4)), ONES)),
    "an integer mask": (DtypeMismatch, lambda: attention(ONES, ONES, ONES, np.ones((2, 2), np.int64))),
    "a mask and is_causal": (ArgumentError, lambda: attention(ONES, ONES, ONES, np.ones((2, 2)), 0.0, True)),
    "dropout": (Unsupported, lambda: ops.dropout(ONES)),
    "attention with dropout": (Unsupported, lambda: attention(ONES, ONES, ONES, None, 0.5)),
}


test_errors_say_what_is_wrong = told(WRONG)


test_what_torch_refuses_is_refused_for_the_same_reason = refused_as_by_torch(
    "linear(x, X)",
    "linear(x, x, z)",
    "linear(x, single)",
    "embedding(bad, x)",
    "embedding(negative, x)",
    "embedding(f, x)",
    "embedding(t, z)",
    "embedding(t, x, 5)",
    "one_hot(f)",
    "one_hot(bad, 2)",
    "one_hot(negative)",
    "dropout(x, 2.0)",
    "scaled_dot_product_attention(x, z, x)",
    "scaled_dot_product_attention(x, single, x)",
    "scaled_dot_product_attention(x, x, x, integers)",
)


@pytest.mark.parametrize(
    "text",
    ["linear(x, y)", "scaled_dot_product_attention(x, y, y)", "embedding(i, y.T)", "one_hot(i, 100000)"],
)
def test_nothing_grows_beyond_bounds(text: str) -> None:
    assert is_too_large(text)
