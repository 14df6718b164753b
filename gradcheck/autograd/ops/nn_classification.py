"""Losses over classes: cross entropy in all its forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.nn_common import kernel, one_dtype, reduced
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch


def _class_dim(input: Any) -> int:
    if not input.ndim:
        raise IndexOutOfRange("a loss over classes takes scores of shape (C), (N, C) or (N, C, …), not 0-d ones")
    return 0 if input.ndim == 1 else 1


def _check_classes(name: str, input: Any, target: Any, weight: Any) -> None:
    dim = _class_dim(input)
    expected = [*input.shape[:dim], *input.shape[dim + 1 :]]
    if list(target.shape) != expected:
        raise ShapeMismatch(f"{name}: the target has shape {list(target.shape)}; for scores of shape "
                            f"{list(input.shape)} it must be {expected}")  # fmt: skip
    if target.dtype not in (np.int64, np.uint8):
        raise DtypeMismatch(f"{name}: class indices must be int64, not {target.dtype}")
    _check_weight(name, input, weight)


def _check_weight(name: str, input: Any, weight: Any) -> None:
    one_dtype(name, input, weight)
    classes = input.shape[_class_dim(input)]
    if weight is not None and list(weight.shape) != [classes]:
        raise ShapeMismatch(f"{name}: the weight has shape {list(weight.shape)}; for {classes} classes it must be "
                            f"[{classes}]")  # fmt: skip


def _valid(target: Any, ignore_index: int) -> tuple[Any, Any]:
    """Which targets count, and the classes they name, as int64; those that are ignored name the first."""
    classes = target if target.dtype == np.int64 else ops.to(target, np.dtype(np.int64))
    valid = classes != ignore_index
    return valid, ops.where(valid, classes, 0)


def _weights_of(weight: Any, classes: Any, valid: Any, dtype: Any) -> Any:
    """The weight of each prediction, 0 where it is ignored."""
    if weight is None:
        return ops.to(valid, dtype)
    return ops.where(valid, ops.reshape(ops.index_select(weight, 0, ops.reshape(classes, (-1,))), classes.shape), 0.0)


@composite(
    torch="nn.functional.nll_loss",
    method=False,
    samples=(
        "nll_loss(randn(4, 3), tensor([0, 2, 1, 2]))",
        "nll_loss(randn(4, 3), tensor([0, 2, 1, 2]), reduction='sum')",
        "nll_loss(randn(4, 3), tensor([0, 2, 1, 2]), detach(rand(3)), reduction='none')",
        "nll_loss(randn(4, 3), tensor([0, -100, 1, 2]), weight=detach(rand(3)))",
        "nll_loss(randn(4, 3), tensor([0, 1, 1, 2]), ignore_index=1)",
        "nll_loss(randn(3), tensor(2))",
        "nll_loss(randn(2, 3, 2), tensor([[0, 1], [2, 2]]), reduction='none')",
        "nll_loss(randn(0, 3), zeros(0, dtype=int64), reduction='sum')",
    ),
)
@kernel
def nll_loss(input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """Minus the log-probability, in `input` of shape (C), (N, C) or (N, C, …), of each target class.

    The mean is weighted, and leaves out targets equal to `ignore_index`.
    """
    _check_classes("nll_loss", input, target, weight)
    dim = _class_dim(input)
    valid, classes = _valid(target, ignore_index)
    picked = ops.squeeze(ops.gather(input, dim, ops.unsqueeze(classes, dim)), dim)
    weights = _weights_of(weight, classes, valid, input.dtype)
    loss = ops.where(valid, -picked if weight is None else -picked * weights, 0.0)
    return ops.sum(loss) / ops.sum(weights) if reduction == "mean" else reduced(loss, reduction)


def _along(weight: Any, input: Any) -> Any:
    """`weight`, one for each class, shaped to broadcast along the classes of `input`."""
    dim = _class_dim(input)
    return ops.reshape(weight, (1,) * dim + tuple(weight.shape) + (1,) * (input.ndim - dim - 1))


def _over_classes(logs: Any, weight: Any) -> Any:
    """Minus the sum of the (weighted) log-probabilities of all classes, for each prediction."""
    return -ops.sum(logs if weight is None else logs * _along(weight, logs), _class_dim(logs))


def _smoothing(logs: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    valid, classes = _valid(target, ignore_index)
    loss = ops.where(valid, _over_classes(logs, weight), 0.0)
    if reduction != "mean":
        return reduced(loss, reduction)
    return ops.sum(loss) / ops.sum(_weights_of(weight, classes, valid, logs.dtype))


def _of_probabilities(logs: Any, target: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    classes = logs.shape[_class_dim(logs)]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    loss = _over_classes(logs * target, weight)
    return ops.mean(loss) if reduction == "mean" else reduced(loss, reduction)


@composite(
    torch="nn.functional.cross_entropy",
    method=False,
    samples=(
        "cross_entropy(randn(4, 3), tensor([0, 2, 1, 2]))",
        "cross_entropy(randn(4, 3), tensor([0, 2, 1, 2]), reduction='sum')",
        "cross_entropy(randn(4, 3), tensor([0, 2, 1, 2]), detach(rand(3)), reduction='none')",
        "cross_entropy(randn(4, 3), tensor([0, -100, 1, 2]), weight=detach(rand(3)))",
        "cross_entropy(randn(4, 3), tensor([0, 1, 1, 2]), ignore_index=1, label_smoothing=0.1)",
        "cross_entropy(randn(4, 3), tensor([0, 1, 1, 2]), detach(rand(3)), ignore_index=1, label_smoothing=0.1)",
        "cross_entropy(randn(4, 3), tensor([0, 1, 1, 2]), reduction='none', label_smoothing=0.3)",
        "cross_entropy(randn(3), tensor(2))",
        "cross_entropy(randn(2, 3, 2), tensor([[0, 1], [2, 2]]))",
        "cross_entropy(randn(2, 3, 2, 2), tensor([[[0, 1], [2, 2]], [[1, 1], [0, 2]]]), reduction='none')",
        "cross_entropy(randn(4, 3), softmax(randn(4, 3), 1))",
        "cross_entropy(randn(4, 3), softmax(randn(4, 3), 1), detach(rand(3)), label_smoothing=0.2)",
        "cross_entropy(randn(2, 3, 2), softmax(randn(2, 3, 2), 1), reduction='none')",
        "cross_entropy(randn(3), softmax(randn(3), 0))",
        "cross_entropy(1e4 * randn(4, 3), tensor([0, 2, 1, 2]), reduction='none')",
        "cross_entropy(randn(0, 3), zeros(0, dtype=int64), reduction='sum')",
    ),
)
@kernel
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`nll_loss` of the `log_softmax` of scores of shape (C), (N, C) or (N, C, …).

    `target` holds classes, or probabilities (of the scores' shape), of which `label_smoothing` is spread evenly.
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"cross_entropy takes a label_smoothing from 0 to 1, not {label_smoothing}")
    dim = _class_dim(input)
    if target.shape == input.shape:
        if target.dtype.kind in "biu":
            raise DtypeMismatch(f"cross_entropy: class probabilities must be floating, not {target.dtype}")
        _check_weight("cross_entropy", input, weight)
        return _of_probabilities(ops.log_softmax(input, dim), target, weight, reduction, label_smoothing)
    _check_classes("cross_entropy", input, target, weight)
    logs = ops.log_softmax(input, dim)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return loss
    smooth = _smoothing(logs, target, weight, ignore_index, reduction)
    return (1 - label_smoothing) * loss + smooth * (label_smoothing / input.shape[dim])
