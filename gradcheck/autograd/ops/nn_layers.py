"""Layers as functions: affine maps, embeddings, dropout."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.nn_common import kernel
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch, Unsupported


@composite(
    torch="nn.functional.linear",
    method=False,
    elements=lambda input, weight, bias=None: prod(input.shape[:-1]) * prod(weight.shape[:-1]),
    samples=(
        "linear(randn(2, 3), randn(4, 3))",
        "linear(randn(2, 3), randn(4, 3), randn(4))",
        "linear(randn(3), randn(4, 3), bias=randn(4))",
        "linear(randn(2, 3), randn(3))",
        "linear(randn(2, 2, 3), randn(4, 3), randn(4))",
        "linear(randn(0, 3), randn(4, 3), randn(4))",
    ),
)
@kernel
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, for weights of shape (out, in)."""
    product = input @ ops.t(weight)
    return product if bias is None else product + bias


@composite(
    torch="nn.functional.embedding",
    method=False,
    elements=lambda input, weight, padding_idx=None: prod(input.shape) * prod(weight.shape[1:]),
    samples=(
        "embedding(tensor([[0, 2], [1, 2]]), randn(3, 4))",
        "embedding(tensor([0, 2, 1]), randn(3, 4), padding_idx=2)",
        "embedding(tensor([0, 2, 1]), randn(3, 4), -1)",
        "embedding(tensor(1), randn(3, 4))",
        "embedding(zeros(0, 2, dtype=int64), randn(3, 4))",
    ),
)
def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of `weight` that `input` names; none of the gradient goes to the row `padding_idx`."""
    if input.dtype not in (np.int64, np.int32):
        raise DtypeMismatch(f"embedding: the indices must be int64 or int32, not {input.dtype}")
    if weight.ndim != 2:
        raise ShapeMismatch(f"embedding: the weight must be a matrix, not of shape {list(weight.shape)}")
    rows = ops.index_select(weight, 0, ops.reshape(input, (-1,)))
    found = ops.reshape(rows, (*input.shape, weight.shape[1]))
    if padding_idx is None:
        return found
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise IndexOutOfRange(f"embedding: there is no row {padding_idx} among {weight.shape[0]} to pad with")
    padding = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
    return ops.where(ops.unsqueeze(input == padding, -1), ops.detach(found), found)


@op(
    torch="nn.functional.one_hot",
    method=False,
    samples=("one_hot(tensor([0, 2, 1]), 4)", "one_hot(tensor([[0, 2], [1, 1]]))"),
    elements=lambda input, num_classes=-1: input.size * max(num_classes, 0) or input.size * (1 + int(input.max())),
)
def one_hot(input: Any, num_classes: int = -1) -> Any:
    """1 at the class, 0 elsewhere, in a new last dimension; as many classes as the largest asks for, unless said."""
    if input.dtype != np.int64:
        raise DtypeMismatch(f"one_hot takes int64, not {input.dtype}")
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
    samples=("dropout(randn(2, 3), 0.5, False)", "dropout(randn(2, 3), p=0.0)", "dropout(randn(2, 3), 1.0)"),
)
def dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """`input` itself: nothing may be random here, so `p` must be 0 or 1 in training."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout takes a probability from 0 to 1, not {p}")
    if not training or p == 0:
        return ops.clone(input)
    if p == 1:
        return input * 0
    raise Unsupported("dropout is random in training, so no two engines can agree on it", hint="pass training=False")
