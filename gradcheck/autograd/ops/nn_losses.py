"""Losses that compare numbers: squared and absolute errors, and divergences between probabilities."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.nn_common import joint_elements, kernel, one_dtype, reduced, same_shape, weighted_mean
from gradcheck.errors import ArgumentError, DomainError


def _weighted(name: str, loss: Any, input: Any, weight: Any, reduction: str) -> Any:
    if weight is None:
        return reduced(loss, reduction)
    same_shape(name, input, weight, "weight")
    return weighted_mean(loss * weight, weight, reduction)


@composite(
    torch="nn.functional.mse_loss",
    method=False,
    elements=joint_elements,
    samples=(
        "mse_loss(randn(2, 3), randn(2, 3))",
        "mse_loss(randn(2, 3), randn(2, 3), reduction='sum')",
        "mse_loss(randn(2, 3), randn(2, 3), reduction='none')",
        "mse_loss(randn(2, 3), randn(2, 3), weight=uniform(0.5, 2, [2, 3]))",
        "mse_loss(randn(2, 3), randn(2, 3), reduction='none', weight=uniform(0.5, 2, [2, 3]))",
        "mse_loss(randn(()), randn(()))",
        "mse_loss(randn(0, 3), randn(0, 3), reduction='sum')",
    ),
)
@kernel
def mse_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Any:
    """The squared error; with `weight` the mean divides by the sum of the weights."""
    return _weighted("mse_loss", ops.square(input - target), input, weight, reduction)


@composite(
    torch="nn.functional.l1_loss",
    method=False,
    elements=joint_elements,
    kinks="equal input and target",
    samples=(
        "l1_loss(randn(2, 3), randn(2, 3))",
        "l1_loss(randn(2, 3), randn(2, 3), reduction='sum')",
        "l1_loss(randn(2, 3), randn(2, 3), reduction='none')",
        "l1_loss(randn(2, 3), randn(2, 3), weight=uniform(0.5, 2, [2, 3]))",
    ),
)
@kernel
def l1_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Any:
    """The absolute error; with `weight` the mean divides by the sum of the weights."""
    return _weighted("l1_loss", ops.abs(input - target), input, weight, reduction)


def _huber(error: Any, delta: Any) -> Any:
    """`error**2 / 2` up to `delta`, linear beyond. Written so that no branch that is not taken can overflow."""
    inner = ops.clamp(error, -delta, delta)
    return inner * (error - 0.5 * inner)


@composite(
    torch="nn.functional.smooth_l1_loss",
    method=False,
    elements=joint_elements,
    samples=(
        "smooth_l1_loss(randn(2, 3), randn(2, 3))",
        "smooth_l1_loss(randn(2, 3), 5 * randn(2, 3), reduction='sum')",
        "smooth_l1_loss(randn(2, 3), randn(2, 3), reduction='none', beta=0.5)",
        "smooth_l1_loss(randn(2, 3), randn(2, 3), beta=0)",
    ),
)
@kernel
def smooth_l1_loss(input: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Any:
    """The squared error over `2 * beta` where it is below `beta`, the absolute error less `beta / 2` beyond."""
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss takes a beta of at least 0, not {beta}")
    error = input - target
    return reduced(_huber(error, beta) / beta if beta else ops.abs(error), reduction)


@composite(
    torch="nn.functional.huber_loss",
    method=False,
    elements=joint_elements,
    samples=(
        "huber_loss(randn(2, 3), randn(2, 3))",
        "huber_loss(randn(2, 3), 5 * randn(2, 3), 'sum', 2.0)",
        "huber_loss(randn(2, 3), randn(2, 3), reduction='none', delta=0.5)",
        "huber_loss(randn(2, 3), randn(2, 3), weight=uniform(0.5, 2, [2, 3]))",
    ),
)
@kernel
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Half the squared error where it is up to `delta`, `delta * (error - delta / 2)` beyond.

    Unlike those of `mse_loss`, the mean of weighted errors divides by their number.
    """
    if delta <= 0:
        raise ArgumentError(f"huber_loss takes a delta above 0, not {delta}")
    loss = _huber(input - target, delta)
    if weight is not None:
        same_shape("huber_loss", input, weight, "weight")
        loss = loss * weight
    return reduced(loss, reduction)


#: What keeps the slope finite at 0 and 1; torch keeps this number in single precision.
_LEAST = float(np.float32(1e-12))


def _bce_share(g: Any, x: Any, weight: Any, reduction: str) -> Any:
    """The cotangent of each element's loss, weight included; it broadcasts against x."""
    share = g / prod(x.shape) if reduction == "mean" else g
    return share if weight is None else share * weight


def _bce_input(g: Any, y: Any, x: Any, target: Any, weight: Any, reduction: str) -> Any:
    return _bce_share(g, x, weight, reduction) * ((x - target) / ops.clamp((1 - x) * x, min=_LEAST))


def _bce_target(g: Any, y: Any, x: Any, target: Any, weight: Any, reduction: str) -> Any:
    return _bce_share(g, x, weight, reduction) * (ops.log(1 - x) - ops.log(x))


def _bce_weight(g: Any, y: Any, x: Any, target: Any, weight: Any, reduction: str) -> Any:
    return ops.sum_to_size(_bce_share(g, x, None, reduction) * binary_cross_entropy(x, target, None, reduction="none"),
                           weight.shape)  # fmt: skip


@op(
    (_bce_input, _bce_target, _bce_weight),
    torch="nn.functional.binary_cross_entropy",
    method=False,
    samples=(
        "binary_cross_entropy(uniform(0.1, 0.9, [2, 3]), uniform(0, 1, [2, 3]))",
        "binary_cross_entropy(uniform(0.1, 0.9, [2, 3]), rand(2, 3), reduction='sum')",
        "binary_cross_entropy(uniform(0.1, 0.9, [2, 3]), rand(2, 3), reduction='none')",
        "binary_cross_entropy(uniform(0.1, 0.9, [2, 3]), rand(2, 3), detach(rand(2, 3)))",
        "binary_cross_entropy(uniform(0.1, 0.9, [2, 3]), rand(2, 3), weight=detach(rand(3)), reduction='sum')",
    ),
)
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """`-(target * log(input) + (1 - target) * log(1 - input))`, each logarithm at least -100 as in torch."""
    same_shape("binary_cross_entropy", input, target, "target")
    one_dtype("binary_cross_entropy", input, target, weight)
    if input.dtype.kind == "f" and not ((input >= 0) & (input <= 1)).all():
        raise DomainError("binary_cross_entropy takes probabilities, from 0 to 1")
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(input), -100), np.maximum(np.log(1 - input), -100)
    loss = -(target * logs[0] + (1 - target) * logs[1])
    return reduced(loss if weight is None else loss * weight, reduction)


@composite(
    torch="nn.functional.binary_cross_entropy_with_logits",
    method=False,
    samples=(
        "binary_cross_entropy_with_logits(randn(2, 3), rand(2, 3))",
        "binary_cross_entropy_with_logits(randn(2, 3), rand(2, 3), reduction='sum')",
        "binary_cross_entropy_with_logits(randn(2, 3), rand(2, 3), detach(uniform(0.5, 2, [3])), reduction='none')",
        "binary_cross_entropy_with_logits(randn(2, 3), rand(2, 3), pos_weight=detach(uniform(0.5, 2, [3])))",
        "binary_cross_entropy_with_logits(1e4 * randn(2, 3), rand(2, 3), reduction='none')",
    ),
)
@kernel
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """`binary_cross_entropy` of `sigmoid(input)`, stable for large scores; `pos_weight` weighs the positive class."""
    same_shape("binary_cross_entropy_with_logits", input, target, "target")
    one_dtype("binary_cross_entropy_with_logits", input, target)
    log_probability = ops.logsigmoid(input)
    if pos_weight is not None:
        log_probability = log_probability * (1 + (pos_weight - 1) * target)
    loss = (1 - target) * input - log_probability
    return reduced(loss if weight is None else loss * weight, reduction)


@composite(
    torch="nn.functional.kl_div",
    method=False,
    elements=joint_elements,
    samples=(
        "kl_div(log_softmax(randn(2, 3), 1), softmax(randn(2, 3), 1))",
        "kl_div(log_softmax(randn(2, 3), 1), softmax(randn(2, 3), 1), reduction='batchmean')",
        "kl_div(randn(2, 3), uniform(0.1, 1, [2, 3]), reduction='sum')",
        "kl_div(randn(2, 3), randn(2, 3), reduction='none', log_target=True)",
        "kl_div(randn(2, 3), randn(2, 3), reduction='batchmean', log_target=True)",
        "kl_div(randn(3), detach(tensor([0.0, 0.25, 0.75])), reduction='none')",
    ),
)
@kernel
def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    """`target * (log(target) - input)`: the divergence of log-probabilities `input` from probabilities `target`."""
    if log_target:
        loss = ops.exp(target) * (target - input)
    else:
        loss = ops.xlogy(target, target) - target * input
    if reduction != "batchmean":
        return reduced(loss, reduction)
    total = ops.sum(loss)
    return total / input.shape[0] if input.ndim else total


@composite(
    torch="nn.functional.soft_margin_loss",
    method=False,
    elements=joint_elements,
    samples=(
        "soft_margin_loss(randn(2, 3), detach(randn(2, 3)))",
        "soft_margin_loss(randn(3), detach(tensor([1.0, -1.0, 1.0])), reduction='none')",
    ),
)
@kernel
def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """`log(1 + exp(-target * input))`, for targets of -1 and 1."""
    return reduced(ops.log1p(ops.exp(-target * input)), reduction)


@composite(
    torch="nn.functional.poisson_nll_loss",
    method=False,
    elements=joint_elements,
    samples=(
        "poisson_nll_loss(randn(2, 3), detach(uniform(0, 5, [2, 3])))",
        "poisson_nll_loss(uniform(0.1, 3, [2, 3]), detach(uniform(0, 5, [2, 3])), log_input=False, reduction='sum')",
    ),
)
@kernel
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, *, eps: float = 1e-8, reduction: str = "mean"
) -> Any:
    """Minus the log-likelihood of a Poisson distribution, without its constant; `input` is its rate, or the log."""
    loss = ops.exp(input) - target * input if log_input else input - target * ops.log(input + eps)
    return reduced(loss, reduction)
