"""Losses with margins over several classes, and of sequences: `ctc_loss`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_REAL_FLOATING
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op, reduce_loss, require_same_shape
from gradcheck.autograd.ops.losses import triplet_margin_loss
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch


def _rows(input: Any, target: Any, name: str) -> tuple[Any, Any]:
    """Return (N, C) scores and targets, a vector as one row."""
    if input.ndim not in (1, 2):
        raise ShapeMismatch(f"{name} takes (N, C) or (C,), not {list(input.shape)}")
    rows = input if input.ndim == 2 else ops.unsqueeze(input, 0)
    return rows, target if target.ndim == rows.ndim or input.ndim == 2 else ops.unsqueeze(target, 0)


def _check_class_weight(weight: Any, classes: int, name: str) -> None:
    if weight is not None and list(weight.shape) != [classes]:
        raise ShapeMismatch(f"{name}: the weight has shape {list(weight.shape)}, expected [{classes}]")


@nn_functional_op(
    kinks="where a margin is met",
    dtypes={"input": FULL_REAL_FLOATING},
    samples="""
        {}(randn(3, 4), tensor([0, 2, 3])); {}(randn(4), tensor(1), p=2, margin=0.5);
        {}(randn(2, 3), tensor([0, 2]), weight=detach(rand(3)), reduction='none')
    """,
)
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean"
) -> Any:
    """The shortfall of the target's score to be `margin` above the others."""
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss takes a p of 1 or 2, not {p}")
    rows = input if input.ndim == 2 else ops.reshape(input, (1, prod(input.shape)))
    picked = ops.reshape(target, (prod(target.shape), 1))
    if picked.dtype.kind not in "iu" or picked.shape[0] != rows.shape[0]:
        raise ShapeMismatch(f"multi_margin_loss: targets of {list(target.shape)} for {list(input.shape)}")
    classes = rows.shape[1]
    _check_class_weight(weight, classes, "multi_margin_loss")
    short = margin - ops.gather(rows, 1, picked) + rows
    cost = ops.where(short > 0, short if p == 1 else short * short, 0.0)
    if weight is not None:
        cost = cost * ops.unsqueeze(weight[ops.reshape(picked, (-1,))], 1)
    others = ops.arange(classes) != picked
    loss = ops.sum(ops.where(others, cost, 0.0), 1) / classes
    return reduce_loss(loss if input.ndim == 2 else ops.squeeze(loss, 0), reduction)


@nn_functional_op(
    kinks="where a margin is met",
    samples="""
        {}(randn(2, 4), tensor([[3, 0, -1, 1], [1, -1, 2, 0]])); {}(randn(3), tensor([0, 2, -1]), reduction='sum')
    """,
)
def multilabel_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """The shortfall of the listed classes' scores to be 1 above the others."""
    require_same_shape("multilabel_margin_loss", input, target, "target")
    rows, listed = (
        _rows(input, target, "multilabel_margin_loss")
        if input.ndim
        else (ops.reshape(input, (1, 1)), ops.reshape(target, (1, 1)))
    )
    labels = np.asarray(ops.detach(listed))
    if labels.size and labels.min() < -1:
        raise IndexOutOfRange("multilabel_margin_loss takes classes from 0 up, and -1 behind the last")
    counts = np.cumprod(labels >= 0, axis=1).astype(bool)
    is_target = np.zeros(labels.shape, bool)
    np.put_along_axis(is_target, np.where(counts, labels, labels[:, :1] if labels.shape[1] else labels), True, axis=1)
    is_target &= counts[:, :1] if labels.shape[1] else counts
    wanted = ops.gather(rows, 1, np.where(counts, labels, 0))
    short = 1 - (ops.unsqueeze(wanted, 2) - ops.unsqueeze(rows, 1))
    counted = counts[:, :, None] & ~is_target[:, None, :]
    cost = ops.where(counted & (short > 0), short, 0.0)
    loss = ops.sum(cost, (1, 2)) / max(rows.shape[1], 1)
    return reduce_loss(loss if input.ndim == 2 else ops.squeeze(loss, 0), reduction)


@nn_functional_op(
    samples="""
        {}(randn(2, 3), detach(rand(2, 3))); {}(randn(3), detach(rand(3)), weight=detach(rand(3)), reduction='sum')
    """
)
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """The mean over classes of binary cross-entropies."""
    loss = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduce_loss(ops.sum(loss, input.ndim - 1) / input.shape[-1], reduction)


@nn_functional_op(
    kinks="equal vectors, and where the margin is met",
    samples="{}(randn(3, 4), randn(3, 4), randn(3, 4)); {}(randn(3), randn(3), randn(3), margin=0.5, swap=True)",
)
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """`triplet_margin_loss` with the default pairwise distance."""
    if distance_function is not None:
        raise ArgumentError("no function is an argument here", hint="the distance is pairwise_distance")
    return triplet_margin_loss(anchor, positive, negative, margin, swap=swap, reduction=reduction)


# Connectionist temporal classification ---------------------------------------------------------------

#: The logarithm of probability 0, finite since infinities have no difference.
_NEVER = -1e30


def _sequences(targets: Any, lengths: np.ndarray) -> list[np.ndarray]:
    listed = np.asarray(ops.detach(targets))
    if listed.ndim == 1:
        ends = np.cumsum(lengths)
        return [listed[end - n : end] for end, n in zip(ends, lengths, strict=True)]
    return [row[:n] for row, n in zip(listed, lengths, strict=True)]


def _extended(targets: list[np.ndarray], blank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, 2 S + 1) labels with blanks, and which may be skipped."""
    longest = max(map(len, targets))
    labels = np.full((len(targets), 2 * longest + 1), blank)
    for row, target in zip(labels, targets, strict=True):
        row[1 : 2 * len(target) : 2] = target
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, skips


def _forward_variables(scores: Any, labels: np.ndarray, skips: np.ndarray, steps: np.ndarray) -> Any:
    """Return log alpha at each sequence's last step.

    Source: Graves and others, "Connectionist temporal classification", 2006.
    """
    length, width = scores.shape[0], labels.shape[1]
    emitted = [ops.gather(scores[t], 1, labels) for t in range(length)]
    started = np.arange(width) < 2
    alpha = ops.where(started, emitted[0], _NEVER)
    nothing = ops.full([labels.shape[0], 2], _NEVER, dtype=scores.dtype)
    for t in range(1, length):
        before = ops.cat([nothing, alpha], 1)
        one, two = ops.narrow(before, 1, 1, width), ops.where(skips, ops.narrow(before, 1, 0, width), _NEVER)
        moved = ops.logsumexp(ops.stack([alpha, one, two], 0), 0) + emitted[t]
        alpha = ops.where(t < steps[:, None], moved, alpha)
    return alpha


@nn_functional_op(
    dtypes={"log_probs": FULL_REAL_FLOATING},
    samples="""
        {}(log_softmax(randn(4, 2, 3), -1), tensor([[1, 2], [2, 2]]), (4, 4), (2, 1));
        {}(log_softmax(randn(5, 3), -1), tensor([1, 1]), (5,), (2,), reduction='sum')
    """,
)
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """The negative log-probability of a target, by (T, N, C) or (T, C)."""
    scores = log_probs if log_probs.ndim == 3 else ops.unsqueeze(log_probs, 1)
    if scores.ndim != 3 or scores.dtype.kind != "f" or 0 in scores.shape:
        raise ShapeMismatch(f"ctc_loss takes log-probabilities of (T, N, C) or (T, C), not {list(log_probs.shape)}")
    steps, sizes = (
        np.asarray(ops.detach(x) if hasattr(x, "dtype") else x).reshape(-1) for x in (input_lengths, target_lengths)
    )
    require_integer(blank, "the blank")
    if steps.dtype.kind not in "iu" or sizes.dtype.kind not in "iu":
        raise DtypeMismatch("ctc_loss takes lengths of integers")
    if len(steps) != scores.shape[1] or len(sizes) != scores.shape[1]:
        raise ShapeMismatch(f"ctc_loss: {len(steps)} and {len(sizes)} lengths for {scores.shape[1]} sequences")
    if targets.dtype.kind not in "iu":
        raise DtypeMismatch(f"ctc_loss takes targets of integers, not {targets.dtype}")
    labels, skips = _extended(_sequences(targets, sizes), blank)
    alpha = _forward_variables(scores, labels, skips, steps)
    last = np.stack([2 * sizes, np.maximum(2 * sizes - 1, 0)], 1)
    ends = ops.where(np.stack([sizes >= 0, sizes > 0], 1), ops.gather(alpha, 1, last), _NEVER)
    loss = -ops.logsumexp(ends, 1)
    loss = ops.where(ops.detach(loss) > -_NEVER / 2, 0.0 if zero_infinity else np.inf, loss)
    if reduction == "mean":
        return ops.mean(loss / np.maximum(sizes, 1).astype(scores.dtype))
    return reduce_loss(loss if log_probs.ndim == 3 else ops.squeeze(loss, 0), reduction)
