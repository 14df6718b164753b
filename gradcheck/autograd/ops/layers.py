"""Layers as functions: affine maps, embeddings, dropout, attention.

Attention is an average of values, weighted by how well queries match keys (Vaswani et al.: Attention is all you need,
2017).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import NUMBERS, REAL_FLOATING
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op, require_broadcastable_to
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch, Unsupported


@nn_functional_op(
    elements=lambda input, weight, bias=None: prod(input.shape[:-1]) * prod(weight.shape[:-1]),
    dtypes={"input": NUMBERS},
    samples="""
        {}(randn(2, 3), randn(4, 3)); {}(randn(2, 3), randn(4, 3), randn(4));
        {}(randn(3), randn(4, 3), bias=randn(4)); {}(randn(2, 3), randn(3));
        {}(randn(2, 2, 3), randn(4, 3), randn(4)); {}(randn(0, 3), randn(4, 3), randn(4));
        {}(randn(2, 3), randn(4, 3), randn(1, 4)); {}(randn(2, 3), randn(4, 3), randn(1))
    """,
)
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, for weights of shape (out, in)."""
    require_one_dtype("linear", *(tensor for tensor in (input, weight, bias) if tensor is not None))
    product, outputs = input @ ops.t(weight), tuple(weight.shape[:-1])
    if bias is not None and tuple(bias.shape) not in ((), (1,), outputs, (1, *outputs)):
        raise ShapeMismatch(f"linear: the bias has shape {list(bias.shape)}, expected {list(outputs)}")
    return product if bias is None else product + bias


@composite(
    torch="nn.functional.embedding",
    method=False,
    elements=lambda input, weight, padding_idx=None: prod(input.shape) * prod(weight.shape[1:]),
    samples="""
        {}(tensor([[0, 2], [1, 2]]), randn(3, 4)); {}(tensor([0, 2, 1]), randn(3, 4), padding_idx=2);
        {}(tensor([0, 2, 1]), randn(3, 4), -1); {}(tensor(1), randn(3, 4)); {}(zeros(0, 2, dtype=int64), randn(3, 4))
    """,
)
def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """Rows of `weight` by index; row `padding_idx` gets no gradient."""
    if input.dtype not in (np.int64, np.int32):
        raise DtypeMismatch(f"embedding: the indices must be int64 or int32, not {input.dtype}")
    if weight.ndim != 2:
        raise ShapeMismatch(f"embedding: the weight must be a matrix, not of shape {list(weight.shape)}")
    rows = ops.index_select(weight, 0, ops.reshape(input, (-1,)))
    found = ops.reshape(rows, (*input.shape, weight.shape[1]))
    if padding_idx is None:
        return found
    padding_idx = require_integer(padding_idx, "padding_idx")
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise IndexOutOfRange(f"embedding: there is no row {padding_idx} among {weight.shape[0]} to pad with")
    padding = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
    return ops.where(ops.unsqueeze(input == padding, -1), ops.detach(found), found)


@op(
    torch="nn.functional.one_hot",
    method=False,
    samples="one_hot(tensor([0, 2, 1]), 4); one_hot(tensor([[0, 2], [1, 1]]))",
    elements=lambda input, num_classes=-1: input.size * max(num_classes, 0) or input.size * (1 + int(input.max())),
)
def one_hot(input: Any, num_classes: int = -1) -> Any:
    """1 at the class, 0 elsewhere; as many classes as the largest names."""
    if input.dtype != np.int64:
        raise DtypeMismatch(f"one_hot takes int64, not {input.dtype}")
    num_classes = require_integer(num_classes, "num_classes")
    if num_classes < 0:
        if not input.size:
            raise ShapeMismatch("one_hot of an empty tensor needs num_classes")
        num_classes = int(input.max()) + 1
    if input.size and (input.min() < 0 or input.max() >= num_classes):
        raise IndexOutOfRange(f"classes from {input.min()} to {input.max()}, expected 0 to {num_classes - 1}")
    return (input[..., np.newaxis] == np.arange(num_classes)).astype(np.int64)


@composite(
    torch="nn.functional.dropout",
    method=False,
    samples="dropout(randn(2, 3), 0.5, False); dropout(randn(2, 3), p=0.0); dropout(randn(2, 3), 1.0)",
)
def dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """`input` unchanged; in training `p` must be 0 or 1, not random."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout takes a probability from 0 to 1, not {p}")
    if not training or p == 0:
        return ops.clone(input)
    if p == 1:
        return input * 0
    raise Unsupported("dropout is random in training, so no two engines can agree on it", hint="pass training=False")


def _safe_softmax(scores: Any) -> Any:
    """`softmax` over the last dimension, with zeros for fully masked rows."""
    if not scores.shape[-1]:
        return scores
    masked = ops.amax(ops.detach(scores), -1, True) == -np.inf
    return ops.where(masked, 0.0, ops.softmax(ops.where(masked, 0.0, scores), -1))


def _masked(scores: Any, attn_mask: Any, is_causal: bool) -> Any:
    """Add a mask to scores (…, l, s), or put -inf where it is False."""
    if is_causal:
        if attn_mask is not None:
            raise ArgumentError("scaled_dot_product_attention takes attn_mask or is_causal=True, not both")
        attn_mask = ops.arange(scores.shape[-1]) <= ops.unsqueeze(ops.arange(scores.shape[-2]), -1)
    if attn_mask is None:
        return scores
    if attn_mask.dtype.kind in "iu":
        raise DtypeMismatch(f"the attention mask must be bool or floating, not {attn_mask.dtype}")
    if not is_causal:
        require_broadcastable_to("scaled_dot_product_attention", scores, attn_mask, "mask")
    if attn_mask.dtype.kind == "b":
        return ops.where(attn_mask, scores, -np.inf)
    if attn_mask.dtype != np.float32:
        require_one_dtype("scaled_dot_product_attention", scores, attn_mask)
    return scores + attn_mask


def _check(query: Any, key: Any, value: Any) -> None:
    shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ShapeMismatch(f"attention takes tensors of shape (…, length, size), not {shapes}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeMismatch(f"attention: sizes of queries and keys, or numbers of keys and values, differ: {shapes}")


def _attention_elements(query: Any, key: Any, value: Any, *settings: Any) -> int:
    """The number of scores or of results, whichever is larger."""
    shared = () if settings[-1] else (key.shape[:-2], value.shape[:-2])
    batch = prod(np.broadcast_shapes(query.shape[:-2], *shared))
    return batch * int(query.shape[-2]) * max(int(key.shape[-2]), int(value.shape[-1]))


def _repeat_heads(query: Any, shared: Any) -> Any:
    """Repeat heads of keys or values for the heads of queries."""
    heads, others = query.shape[-3], shared.shape[-3]
    if others == 0 or heads % others:
        raise ShapeMismatch(f"attention: {heads} heads of queries cannot share {others}")
    return ops.repeat_interleave(shared, heads // others, -3)


@nn_functional_op(
    elements=_attention_elements,
    dtypes={"query": REAL_FLOATING},
    samples="""
        {}(randn(3, 4), randn(5, 4), randn(5, 2)); {}(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4), scale=0.3);
        {}(randn(1, 2, 3, 4), randn(1, 2, 3, 4), randn(1, 2, 3, 4), is_causal=True);
        {}(randn(3, 4), randn(2, 4), randn(2, 4), None, 0.0, True);
        {}(randn(2, 4), randn(3, 4), randn(3, 2), detach(randn(2, 3)));
        {}(randn(2, 4), randn(3, 4), randn(3, 2), tensor([[True], [True]]));
        {}(randn(2, 4), randn(2, 4), randn(2, 3), tensor([[True, False], [False, False]]));
        {}(randn(1, 4, 2, 3), randn(1, 2, 2, 3), randn(1, 2, 2, 3), enable_gqa=True)
    """,
)
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """`softmax(query @ key.mT * scale + mask) @ value`.

    Shapes are (…, l, d), (…, s, d) and (…, s, v). A boolean mask says what takes part; one of numbers is added. `scale`
    is `1 / sqrt(d)` by default. With `enable_gqa`, several heads of queries (dimension -3) share a head of keys.
    """
    if enable_gqa:
        key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    _check(query, key, value)
    if dropout_p:
        raise Unsupported("attention with dropout is random, so no two engines can agree on it")
    size = query.shape[-1]
    if scale is None:
        scale = size**-0.5 if size else np.inf
    scores = _masked(query @ ops.transpose(key, -2, -1) * scale, attn_mask, is_causal)
    weights = ops.softmax(scores, -1) if attn_mask is None else _safe_softmax(scores)
    return weights @ value
