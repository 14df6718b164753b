"""Cross entropies over classes, and of two outcomes.

Scores of C classes have shape (C), (N, C) or (N, C, …); targets name a class for each prediction or
give probabilities. Label smoothing: Szegedy et al.: Rethinking the inception architecture for computer vision, 2016.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import REAL, REAL_FLOATING
from gradcheck.autograd.op import op
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import (
    nn_functional_op,
    reduce_loss,
    require_broadcastable_to,
    require_one_float_dtype,
    require_same_shape,
)
from gradcheck.errors import ArgumentError, DomainError, DtypeMismatch, IndexOutOfRange, ShapeMismatch


def _class_dim(input: Any) -> int:
    """Return the dimension of classes. Raises IndexOutOfRange if 0-d."""
    if not input.ndim:
        raise IndexOutOfRange("a loss over classes takes scores of shape (C), (N, C) or (N, C, …), not 0-d ones")
    return 0 if input.ndim == 1 else 1


def _check_classes(name: str, input: Any, target: Any, weight: Any) -> None:
    dim = _class_dim(input)
    expected = [*input.shape[:dim], *input.shape[dim + 1 :]]
    if list(target.shape) != expected:
        needed = f"for scores of shape {list(input.shape)} it must be {expected}"
        raise ShapeMismatch(f"{name}: the target has shape {list(target.shape)}; {needed}")
    if target.dtype not in ((np.int64, np.uint8) if target.ndim < 2 else (np.int64,)):
        raise DtypeMismatch(f"{name}: class indices must be int64, not {target.dtype}")
    _check_weight(name, input, weight)


def _check_weight(name: str, input: Any, weight: Any) -> None:
    require_one_float_dtype(name, input, weight)
    classes = input.shape[_class_dim(input)]
    if weight is not None and list(weight.shape) != [classes]:
        needed = f"for {classes} classes it must be [{classes}]"
        raise ShapeMismatch(f"{name}: the weight has shape {list(weight.shape)}; {needed}")


def _valid_targets(target: Any, ignore_index: int) -> tuple[Any, Any]:
    """Return a mask of targets that count, and classes (0 if ignored)."""
    classes = target if target.dtype == np.int64 else ops.to(target, np.dtype(np.int64))
    valid = classes != require_integer(ignore_index, "ignore_index")
    return valid, ops.where(valid, classes, 0)


def _weights_of(weight: Any, classes: Any, valid: Any, dtype: Any) -> Any:
    """Return the weight of each prediction, 0 where it is ignored."""
    if weight is None:
        return ops.to(valid, dtype)
    return ops.where(valid, ops.reshape(ops.index_select(weight, 0, ops.reshape(classes, (-1,))), classes.shape), 0.0)


@nn_functional_op(
    dtypes={"input": REAL},
    samples="""
        {}(randn(4, 3), tensor([0, 2, 1, 2])); {}(randn(4, 3), tensor([0, 2, 1, 2]), reduction='sum');
        {}(randn(4, 3), tensor([0, 2, 1, 2]), detach(rand(3)), reduction='none');
        {}(randn(4, 3), tensor([0, -100, 1, 2]), weight=detach(rand(3)));
        {}(randn(4, 3), tensor([0, 1, 1, 2]), ignore_index=1); {}(randn(3), tensor(2));
        {}(randn(2, 3, 2), tensor([[0, 1], [2, 2]]), reduction='none');
        {}(randn(0, 3), zeros(0, dtype=int64), reduction='sum')
    """,
)
def nll_loss(input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """The negative log-probability in `input` of each target class.

    The mean is weighted, and leaves out targets equal to `ignore_index`.
    """
    _check_classes("nll_loss", input, target, weight)
    dim = _class_dim(input)
    valid, classes = _valid_targets(target, ignore_index)
    picked = ops.squeeze(ops.gather(input, dim, ops.unsqueeze(classes, dim)), dim)
    weights = _weights_of(weight, classes, valid, input.dtype)
    loss = ops.where(valid, -picked if weight is None else -picked * weights, 0.0)
    return ops.sum(loss) / ops.sum(weights) if reduction == "mean" else reduce_loss(loss, reduction)


def _broadcast_class_weight(weight: Any, input: Any) -> Any:
    """Shape class weights so that they broadcast with `input`."""
    dim = _class_dim(input)
    return ops.reshape(weight, (1,) * dim + tuple(weight.shape) + (1,) * (input.ndim - dim - 1))


def _sum_over_classes(logs: Any, weight: Any) -> Any:
    """Return minus the (weighted) sum of log-probabilities per prediction."""
    return -ops.sum(logs if weight is None else logs * _broadcast_class_weight(weight, logs), _class_dim(logs))


def _smoothing(logs: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    valid, classes = _valid_targets(target, ignore_index)
    loss = ops.where(valid, _sum_over_classes(logs, weight), 0.0)
    if reduction != "mean":
        return reduce_loss(loss, reduction)
    return ops.sum(loss) / ops.sum(_weights_of(weight, classes, valid, logs.dtype))


def _of_probabilities(logs: Any, target: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    classes = logs.shape[_class_dim(logs)]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    loss = _sum_over_classes(logs * target, weight)
    return ops.mean(loss) if reduction == "mean" else reduce_loss(loss, reduction)


@nn_functional_op(
    dtypes={"input": REAL},
    samples="""
        {}(randn(4, 3), tensor([0, 2, 1, 2])); {}(randn(4, 3), tensor([0, 2, 1, 2]), reduction='sum');
        {}(randn(4, 3), tensor([0, 2, 1, 2]), detach(rand(3)), reduction='none');
        {}(randn(4, 3), tensor([0, -100, 1, 2]), weight=detach(rand(3)));
        {}(randn(4, 3), tensor([0, 1, 1, 2]), ignore_index=1, label_smoothing=0.1);
        {}(randn(4, 3), tensor([0, 1, 1, 2]), detach(rand(3)), ignore_index=1, label_smoothing=0.1);
        {}(randn(4, 3), tensor([0, 1, 1, 2]), reduction='none', label_smoothing=0.3); {}(randn(3), tensor(2));
        {}(randn(2, 3, 2), tensor([[0, 1], [2, 2]]));
        {}(randn(2, 3, 2, 2), tensor([[[0, 1], [2, 2]], [[1, 1], [0, 2]]]), reduction='none');
        {}(randn(4, 3), softmax(randn(4, 3), 1));
        {}(randn(4, 3), softmax(randn(4, 3), 1), detach(rand(3)), label_smoothing=0.2);
        {}(randn(2, 3, 2), softmax(randn(2, 3, 2), 1), reduction='none'); {}(randn(3), softmax(randn(3), 0));
        {}(1e4 * randn(4, 3), tensor([0, 2, 1, 2]), reduction='none');
        {}(randn(0, 3), zeros(0, dtype=int64), reduction='sum')
    """,
)
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`nll_loss` of the `log_softmax` of scores (C), (N, C) or (N, C, …).

    `target` holds classes, or probabilities (in the scores' shape); `label_smoothing` spreads a share of them evenly.
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"cross_entropy takes a label_smoothing from 0 to 1, not {label_smoothing}")
    dim = _class_dim(input)
    if target.shape == input.shape:
        if target.dtype.kind in "biuc":
            raise DtypeMismatch(f"cross_entropy: class probabilities must be floating, not {target.dtype}")
        _check_weight("cross_entropy", input, weight)
        return _of_probabilities(ops.log_softmax(input, dim), target, weight, reduction, label_smoothing)
    _check_classes("cross_entropy", input, target, weight)
    if label_smoothing and target.dtype != np.int64:
        raise DtypeMismatch(f"cross_entropy: with label_smoothing class indices must be int64, not {target.dtype}")
    logs = ops.log_softmax(input, dim)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return loss
    smooth = _smoothing(logs, target, weight, ignore_index, reduction)
    return (1 - label_smoothing) * loss + smooth * (label_smoothing / input.shape[dim])


#: A bound that keeps the slope finite at 0 and 1; torch has this number in single precision.
_LEAST = float(np.float32(1e-12))


def _bce_cotangent(g: Any, x: Any, weight: Any, reduction: str) -> Any:
    """Return each element's weighted cotangent, broadcastable to x."""
    share = g / prod(x.shape) if reduction == "mean" else g
    return share if weight is None else share * weight


def _bce_input(g: Any, y: Any, x: Any, target: Any, weight: Any, reduction: str) -> Any:
    return _bce_cotangent(g, x, weight, reduction) * ((x - target) / ops.clamp((1 - x) * x, min=_LEAST))


def _bce_is_bounded(input: Any, *others: Any) -> bool:
    return bool(np.any((1 - input) * input < _LEAST))


def _bce_target(g: Any, y: Any, x: Any, target: Any, weight: Any, reduction: str) -> Any:
    return _bce_cotangent(g, x, weight, reduction) * (ops.log(1 - x) - ops.log(x))


def _bce_weight(g: Any, y: Any, x: Any, target: Any, weight: Any, reduction: str) -> Any:
    loss = binary_cross_entropy(x, target, None, reduction="none")
    return ops.sum_to_size(_bce_cotangent(g, x, None, reduction) * loss, weight.shape)


@op(
    (_bce_input, _bce_target, _bce_weight),
    torch="nn.functional.binary_cross_entropy",
    method=False,
    bounded=_bce_is_bounded,
    dtypes={"input": REAL_FLOATING},
    samples="""
        {}(uniform(0.1, 0.9, [2, 3]), uniform(0, 1, [2, 3]));
        {}(uniform(0.1, 0.9, [2, 3]), rand(2, 3), reduction='sum');
        {}(uniform(0.1, 0.9, [2, 3]), rand(2, 3), reduction='none');
        {}(uniform(0.1, 0.9, [2, 3]), rand(2, 3), detach(rand(2, 3)));
        {}(uniform(0.1, 0.9, [2, 3]), rand(2, 3), weight=detach(rand(3)), reduction='sum')
    """,
)
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """`-(t * log(x) + (1 - t) * log(1 - x))`, logarithms at least -100."""
    require_same_shape("binary_cross_entropy", input, target, "target")
    require_one_float_dtype("binary_cross_entropy", input, target, weight)
    if weight is not None:
        require_broadcastable_to("binary_cross_entropy", input, weight, "weight")
    if input.dtype.kind == "f" and not ((input >= 0) & (input <= 1)).all():
        raise DomainError("binary_cross_entropy takes probabilities, from 0 to 1")
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(input), -100), np.maximum(np.log(1 - input), -100)
    loss = -(target * logs[0] + (1 - target) * logs[1])
    return reduce_loss(loss if weight is None else loss * weight, reduction)


@nn_functional_op(
    dtypes={"input target weight pos_weight": REAL_FLOATING},
    samples="""
        {}(randn(2, 3), rand(2, 3)); {}(randn(2, 3), rand(2, 3), reduction='sum');
        {}(randn(2, 3), rand(2, 3), detach(uniform(0.5, 2, [3])), reduction='none');
        {}(randn(2, 3), rand(2, 3), pos_weight=detach(uniform(0.5, 2, [3])));
        {}(1e4 * randn(2, 3), rand(2, 3), reduction='none')
    """,
)
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """`binary_cross_entropy` of `sigmoid(input)`, stable; weighs positives."""
    require_same_shape("binary_cross_entropy_with_logits", input, target, "target")
    require_one_float_dtype("binary_cross_entropy_with_logits", input, target)
    for given, what in ((weight, "weight"), (pos_weight, "pos_weight")):
        if given is not None:
            require_broadcastable_to("binary_cross_entropy_with_logits", input, given, what)
    log_probability = ops.logsigmoid(input)
    if pos_weight is not None:
        log_probability = log_probability * (1 + (pos_weight - 1) * target)
    loss = (1 - target) * input - log_probability
    return reduce_loss(loss if weight is None else loss * weight, reduction)
