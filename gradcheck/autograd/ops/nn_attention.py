"""Attention: averages of values, weighted by how well queries match keys."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.nn_common import kernel
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch, Unsupported


def _safe_softmax(scores: Any) -> Any:
    """`softmax` over the last dimension; a row that is all -inf, masked altogether, becomes zeros instead of NaN."""
    if not scores.shape[-1]:
        return scores
    masked = ops.amax(ops.detach(scores), -1, True) == -np.inf
    return ops.where(masked, 0.0, ops.softmax(ops.where(masked, 0.0, scores), -1))


def _masked(scores: Any, attn_mask: Any, is_causal: bool) -> Any:
    if is_causal:
        if attn_mask is not None:
            raise ArgumentError("scaled_dot_product_attention takes attn_mask or is_causal=True, not both")
        attn_mask = ops.arange(scores.shape[-1]) <= ops.unsqueeze(ops.arange(scores.shape[-2]), -1)
    if attn_mask is None:
        return scores
    if attn_mask.dtype.kind == "b":
        return ops.where(attn_mask, scores, -np.inf)
    if attn_mask.dtype.kind in "iu":
        raise DtypeMismatch(f"the attention mask must be bool or floating, not {attn_mask.dtype}")
    return scores + attn_mask


def _check(query: Any, key: Any, value: Any) -> None:
    shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ShapeMismatch(f"attention takes tensors of shape (…, length, size), not {shapes}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeMismatch(f"attention: sizes of queries and keys, or numbers of keys and values, differ: {shapes}")


def _elements(query: Any, key: Any, value: Any, *settings: Any) -> int:
    """Those of the scores, or of the result."""
    batch = prod(np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2]))
    return batch * int(query.shape[-2]) * max(int(key.shape[-2]), int(value.shape[-1]))


@composite(
    torch="nn.functional.scaled_dot_product_attention",
    method=False,
    elements=_elements,
    samples=(
        "scaled_dot_product_attention(randn(3, 4), randn(5, 4), randn(5, 2))",
        "scaled_dot_product_attention(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4), scale=0.3)",
        "scaled_dot_product_attention(randn(1, 2, 3, 4), randn(1, 2, 3, 4), randn(1, 2, 3, 4), is_causal=True)",
        "scaled_dot_product_attention(randn(3, 4), randn(2, 4), randn(2, 4), None, 0.0, True)",
        "scaled_dot_product_attention(randn(2, 4), randn(3, 4), randn(3, 2), detach(randn(2, 3)))",
        "scaled_dot_product_attention(randn(2, 4), randn(3, 4), randn(3, 2), tensor([[True], [True]]))",
        "scaled_dot_product_attention(randn(2, 4), randn(2, 4), randn(2, 3), tensor([[True, False], [False, False]]))",
    ),
)
@kernel
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    """`softmax(query @ key.mT * scale + mask) @ value`, for shapes (…, l, d), (…, s, d), (…, s, v).

    A boolean mask says what takes part; one of numbers is added. `scale` is `1 / sqrt(d)` unless given.
    """
    _check(query, key, value)
    if dropout_p:
        raise Unsupported("attention with dropout is random, so no two engines can agree on it")
    size = query.shape[-1]
    factor = scale if scale is not None else size**-0.5 if size else np.inf
    scores = _masked(query @ ops.transpose(key, -2, -1) * factor, attn_mask, is_causal)
    return (ops.softmax(scores, -1) if attn_mask is None else _safe_softmax(scores)) @ value
