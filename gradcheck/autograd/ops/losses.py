"""Losses that compare numbers: errors, likelihoods, margins.

Sources: huber_loss: Huber, Robust estimation of a location parameter, 1964; smooth_l1_loss: Girshick, Fast R-CNN, 2015;
kl_div: Kullback and Leibler, On information and sufficiency, 1951; triplet_margin_loss: Balntas et al., Learning local
feature descriptors with triplets and shallow convolutional neural networks, 2016.
"""

from __future__ import annotations

from functools import partial
from math import log, pi
from typing import Any

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FLOATING, REAL, REAL_FLOATING, REAL_NUMBERS
from gradcheck.autograd.ops.common.nn_functional import (
    count_broadcast_elements,
    nn_functional_op,
    reduce_loss,
    require_any_floating,
    require_broadcastable_to,
    require_same_shape,
)
from gradcheck.errors import ArgumentError, ShapeMismatch

_loss = partial(nn_functional_op, elements=count_broadcast_elements)


def _reduce_weighted(name: str, loss: Any, input: Any, weight: Any, reduction: str) -> Any:
    """Reduce a weighted loss; its mean divides by the sum of weights."""
    if weight is None:
        return reduce_loss(loss, reduction)
    require_same_shape(name, input, weight, "weight")
    weighted = loss * weight
    return ops.sum(weighted) / ops.sum(weight) if reduction == "mean" else reduce_loss(weighted, reduction)


@_loss(
    dtypes={"input target": REAL_NUMBERS},
    samples="""
        {}(randn(2, 3), randn(2, 3)); {}(randn(2, 3), randn(2, 3), reduction='sum');
        {}(randn(2, 3), randn(2, 3), reduction='none'); {}(randn(2, 3), randn(2, 3), weight=uniform(0.5, 2, [2, 3]));
        {}(randn(2, 3), randn(2, 3), reduction='none', weight=uniform(0.5, 2, [2, 3])); {}(randn(()), randn(()));
        {}(randn(0, 3), randn(0, 3), reduction='sum')
    """,
)
def mse_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Any:
    """The squared error; a weighted mean divides by the sum of weights."""
    require_any_floating("mse_loss", input, target)
    return _reduce_weighted("mse_loss", ops.square(input - target), input, weight, reduction)


@_loss(
    kinks="equal input and target",
    dtypes={"input target": FLOATING},
    samples="""
        {}(randn(2, 3), randn(2, 3)); {}(randn(2, 3), randn(2, 3), reduction='sum');
        {}(randn(2, 3), randn(2, 3), reduction='none'); {}(randn(2, 3), randn(2, 3), weight=uniform(0.5, 2, [2, 3]))
    """,
)
def l1_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Any:
    """The absolute error; a weighted mean divides by the sum of weights."""
    return _reduce_weighted("l1_loss", ops.abs(input - target), input, weight, reduction)


def _huber(error: Any, delta: Any) -> Any:
    """`error**2 / 2` up to `delta`, linear beyond, without overflow."""
    inner = ops.clamp(error, -delta, delta)
    return inner * (error - 0.5 * inner)


@_loss(
    dtypes={"input target": REAL_NUMBERS},
    samples="""
        {}(randn(2, 3), randn(2, 3)); {}(randn(2, 3), 5 * randn(2, 3), reduction='sum');
        {}(randn(2, 3), randn(2, 3), reduction='none', beta=0.5); {}(randn(2, 3), randn(2, 3), beta=0)
    """,
)
def smooth_l1_loss(input: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Any:
    """The squared error over `2 * beta` below `beta`, linear beyond."""
    if not beta >= 0:
        raise ArgumentError(f"smooth_l1_loss takes a beta of at least 0, not {beta}")
    require_any_floating("smooth_l1_loss", input, target)
    error = input - target
    return reduce_loss(_huber(error, beta) / beta if beta else ops.abs(error), reduction)


@_loss(
    dtypes={"input target": REAL_FLOATING},
    samples="""
        {}(randn(2, 3), randn(2, 3)); {}(randn(2, 3), 5 * randn(2, 3), 'sum', 2.0);
        {}(randn(2, 3), randn(2, 3), reduction='none', delta=0.5);
        {}(randn(2, 3), randn(2, 3), weight=uniform(0.5, 2, [2, 3]))
    """,
)
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Half the squared error up to `delta`, linear beyond; plain mean."""
    if not delta > 0:
        raise ArgumentError(f"huber_loss takes a delta above 0, not {delta}")
    loss = _huber(input - target, delta)
    if weight is not None:
        require_same_shape("huber_loss", input, weight, "weight")
        loss = loss * weight
    return reduce_loss(loss, reduction)


@_loss(
    dtypes={"input target": REAL_FLOATING},
    samples="""
        {}(log_softmax(randn(2, 3), 1), softmax(randn(2, 3), 1));
        {}(log_softmax(randn(2, 3), 1), softmax(randn(2, 3), 1), reduction='batchmean');
        {}(randn(2, 3), uniform(0.1, 1, [2, 3]), reduction='sum');
        {}(randn(2, 3), randn(2, 3), reduction='none', log_target=True);
        {}(randn(2, 3), randn(2, 3), reduction='batchmean', log_target=True);
        {}(randn(3), detach(tensor([0.0, 0.25, 0.75])), reduction='none')
    """,
)
def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    """`target * (log(target) - input)`, the Kullback-Leibler divergence.

    `input` holds log-probabilities, `target` probabilities.
    """
    if log_target:
        loss = ops.exp(target) * (target - input)
    else:
        loss = ops.xlogy(target, target) - target * input
    if reduction != "batchmean":
        return reduce_loss(loss, reduction)
    total = ops.sum(loss)
    return total / input.shape[0] if input.ndim else total


@_loss(
    samples="""
        {}(randn(2, 3), detach(uniform(0, 5, [2, 3])));
        {}(uniform(0.1, 3, [2, 3]), detach(uniform(0, 5, [2, 3])), log_input=False, reduction='sum');
        {}(randn(2, 3), uniform(0, 5, [2, 3]), full=True)
    """,
)
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
) -> Any:
    """The negative Poisson log-likelihood; `full` adds Stirling for > 1."""
    loss = ops.exp(input) - target * input if log_input else input - target * ops.log(input + eps)
    if full:
        large = target > 1
        safe = ops.where(large, target, 2.0)
        stirling = safe * ops.log(safe) - safe + 0.5 * ops.log(2 * pi * safe)
        loss = loss + ops.where(large, stirling, 0.0)
    return reduce_loss(loss, reduction)


@_loss(
    dtypes={"var": REAL_FLOATING},
    samples="""
        {}(randn(3, 4), randn(3, 4), uniform(0.5, 2, [3, 4]));
        {}(randn(3, 4), randn(3, 4), uniform(0.5, 2, [3]), full=True, reduction='none');
        {}(randn(3, 4), randn(3, 4), uniform(0.5, 2, [3, 1]), reduction='sum')
    """,
)
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """The negative normal log-likelihood; `full` adds the constant."""
    if tuple(var.shape) != tuple(input.shape):
        if tuple(var.shape) == tuple(input.shape[:-1]):
            var = ops.unsqueeze(var, -1)
        elif tuple(var.shape) != (*input.shape[:-1], 1):
            raise ShapeMismatch(f"gaussian_nll_loss: a variance of shape {list(var.shape)} for {list(input.shape)}")
    bounded = var + ops.detach(ops.clamp(var, min=eps) - var)  # the gradient passes the bound, as in torch
    loss = 0.5 * (ops.log(bounded) + ops.square(input - target) / bounded)
    return reduce_loss(loss + 0.5 * log(2 * pi) if full else loss, reduction)


# Margins -------------------------------------------------------------------------------------------


@_loss(
    dtypes={"input": REAL_FLOATING, "target": REAL},
    samples="{}(randn(2, 3), detach(randn(2, 3))); {}(randn(3), detach(tensor([1.0, -1.0, 1.0])), reduction='none')",
)
def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """`log(1 + exp(-target * input))`, for targets of -1 and 1."""
    require_broadcastable_to("soft_margin_loss", input, target, "target")
    return reduce_loss(ops.log1p(ops.exp(-target * input)), reduction)


@_loss(
    kinks="the margin",
    dtypes={"input1 input2": REAL_FLOATING},
    samples="""
        {}(randn(4), randn(4), tensor([1.0, -1.0, 1.0, -1.0]));
        {}(randn(4), randn(4), tensor([1.0, -1.0, 1.0, 1.0]), 0.5, reduction='none')
    """,
)
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0, *, reduction: str = "mean") -> Any:
    """`relu(margin - target * (input1 - input2))`, for targets of -1 and 1."""
    if not input1.ndim == input2.ndim == target.ndim:
        found = f"{input1.ndim}, {input2.ndim} and {target.ndim}"
        raise ShapeMismatch(f"margin_ranking_loss takes three tensors of as many dimensions, not {found}")
    return reduce_loss(ops.clamp(-target * (input1 - input2) + margin, min=0), reduction)


@_loss(
    kinks="the margin",
    dtypes={"input": REAL_FLOATING},
    samples="""
        {}(randn(4), tensor([1.0, -1.0, 1.0, -1.0]));
        {}(randn(4), tensor([1.0, -1.0, -1.0, -1.0]), margin=2.0, reduction='sum')
    """,
)
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    """`input` where the target is 1, `relu(margin - input)` where it is -1."""
    apart = ops.where(target != 1, ops.clamp(margin - input, min=0), 0.0)
    return reduce_loss(apart + ops.where(target != -1, input, 0.0), reduction)


@nn_functional_op(
    kinks="the margin",
    dtypes={"target": REAL},
    samples="""
        {}(randn(3, 4), randn(3, 4), tensor([1.0, -1.0, 1.0]));
        {}(randn(3, 4), randn(3, 4), tensor([-1.0, -1.0, 1.0]), -0.5, reduction='none');
        {}(randn(4), randn(4), tensor(1.0))
    """,
)
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0, *, reduction: str = "mean") -> Any:
    """1 - cosine where the target is 1, `relu(cosine - margin)` where -1."""
    if input1.ndim != target.ndim + 1 or target.ndim > 1 or input1.ndim != input2.ndim:
        expected = "(N, D), (N, D) and targets (N), or (D), (D) and one"
        found = f"{list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        raise ShapeMismatch(f"cosine_embedding_loss takes {expected}, not {found}")
    product = ops.sum(input1 * input2, -1)
    squares = [ops.sum(x * x, -1) + 1e-12 for x in (input1, input2)]
    cosine = product / ops.sqrt(squares[0] * squares[1])
    loss = ops.where(target == 1, 1 - cosine, 0.0) + ops.where(target == -1, ops.clamp(cosine - margin, min=0), 0.0)
    return reduce_loss(loss, reduction)


@_loss(
    kinks="the margin",
    samples="""
        {}(randn(3, 4), randn(3, 4), randn(3, 4));
        {}(randn(3, 4), randn(3, 4), randn(3, 4), 2.0, 1.0, reduction='none');
        {}(randn(3, 4), randn(3, 4), randn(3, 4), swap=True, reduction='sum')
    """,
)
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Any:
    """`relu(margin + distance to positive - distance to negative)`.

    With `swap`, the distance of the negative from the positive counts if it is smaller.
    """
    if not anchor.ndim == positive.ndim == negative.ndim:
        found = f"{anchor.ndim}, {positive.ndim} and {negative.ndim}"
        raise ShapeMismatch(f"triplet_margin_loss takes three tensors of as many dimensions, not {found}")
    if margin <= 0:
        raise ArgumentError(f"triplet_margin_loss takes a margin above 0, not {margin}")
    near = ops.pairwise_distance(anchor, positive, p, eps)
    far = ops.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, ops.pairwise_distance(positive, negative, p, eps))
    return reduce_loss(ops.clamp(margin + near - far, min=0), reduction)
