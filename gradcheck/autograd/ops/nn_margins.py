"""Losses that ask for a margin between what belongs together and what does not, and one of a normal distribution."""

from __future__ import annotations

from math import log, pi
from typing import Any

from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.nn_common import joint_elements, kernel, reduced
from gradcheck.errors import ArgumentError, ShapeMismatch


@composite(
    torch="nn.functional.margin_ranking_loss",
    method=False,
    elements=joint_elements,
    kinks="the margin",
    samples=(
        "margin_ranking_loss(randn(4), randn(4), tensor([1.0, -1.0, 1.0, -1.0]))",
        "margin_ranking_loss(randn(4), randn(4), tensor([1.0, -1.0, 1.0, 1.0]), 0.5, reduction='none')",
    ),
)
@kernel
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0, *, reduction: str = "mean") -> Any:
    """How much `target * (input1 - input2)` lacks to the margin, for targets of -1 and 1."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeMismatch("margin_ranking_loss takes three tensors of as many dimensions, not "
                            f"{input1.ndim}, {input2.ndim} and {target.ndim}")  # fmt: skip
    return reduced(ops.clamp(-target * (input1 - input2) + margin, min=0), reduction)


@composite(
    torch="nn.functional.hinge_embedding_loss",
    method=False,
    elements=joint_elements,
    kinks="the margin",
    samples=(
        "hinge_embedding_loss(randn(4), tensor([1.0, -1.0, 1.0, -1.0]))",
        "hinge_embedding_loss(randn(4), tensor([1.0, -1.0, -1.0, -1.0]), margin=2.0, reduction='sum')",
    ),
)
@kernel
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    """The distance `input` where the target is 1; what it lacks to the margin where it is -1."""
    apart = ops.where(target != 1, ops.clamp(margin - input, min=0), 0.0)
    return reduced(apart + ops.where(target != -1, input, 0.0), reduction)


@composite(
    torch="nn.functional.cosine_embedding_loss",
    method=False,
    kinks="the margin",
    samples=(
        "cosine_embedding_loss(randn(3, 4), randn(3, 4), tensor([1.0, -1.0, 1.0]))",
        "cosine_embedding_loss(randn(3, 4), randn(3, 4), tensor([-1.0, -1.0, 1.0]), -0.5, reduction='none')",
        "cosine_embedding_loss(randn(4), randn(4), tensor(1.0))",
    ),
)
@kernel
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0, *, reduction: str = "mean") -> Any:
    """1 less the cosine where the target is 1; what the cosine exceeds the margin by where it is -1."""
    if input1.ndim != target.ndim + 1 or target.ndim > 1 or input1.ndim != input2.ndim:
        raise ShapeMismatch("cosine_embedding_loss takes (N, D), (N, D) and targets (N), or (D), (D) and one, not "
                            f"{list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}")  # fmt: skip
    product = ops.sum(input1 * input2, -1)
    squares = [ops.sum(x * x, -1) + 1e-12 for x in (input1, input2)]
    cosine = product / ops.sqrt(squares[0] * squares[1])
    loss = ops.where(target == 1, 1 - cosine, 0.0) + ops.where(target == -1, ops.clamp(cosine - margin, min=0), 0.0)
    return reduced(loss, reduction)


@composite(
    torch="nn.functional.triplet_margin_loss",
    method=False,
    elements=joint_elements,
    kinks="the margin",
    samples=(
        "triplet_margin_loss(randn(3, 4), randn(3, 4), randn(3, 4))",
        "triplet_margin_loss(randn(3, 4), randn(3, 4), randn(3, 4), 2.0, 1.0, reduction='none')",
        "triplet_margin_loss(randn(3, 4), randn(3, 4), randn(3, 4), swap=True, reduction='sum')",
    ),
)
@kernel
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
    """How much the negative lacks to be farther from the anchor than the positive is, by the margin.

    With `swap`, the negative's distance from the positive counts where that is smaller.
    """
    if margin <= 0:
        raise ArgumentError(f"triplet_margin_loss takes a margin above 0, not {margin}")
    near = ops.pairwise_distance(anchor, positive, p, eps)
    far = ops.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, ops.pairwise_distance(positive, negative, p, eps))
    return reduced(ops.clamp(margin + near - far, min=0), reduction)


@composite(
    torch="nn.functional.gaussian_nll_loss",
    method=False,
    elements=joint_elements,
    samples=(
        "gaussian_nll_loss(randn(3, 4), randn(3, 4), uniform(0.5, 2, [3, 4]))",
        "gaussian_nll_loss(randn(3, 4), randn(3, 4), uniform(0.5, 2, [3]), full=True, reduction='none')",
        "gaussian_nll_loss(randn(3, 4), randn(3, 4), uniform(0.5, 2, [3, 1]), reduction='sum')",
    ),
)
@kernel
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Minus the log-likelihood of a normal distribution of mean `input` and variance `var`, which counts as at least
    `eps`; `full` adds the constant."""
    if tuple(var.shape) != tuple(input.shape):
        if tuple(var.shape) == tuple(input.shape[:-1]):
            var = ops.unsqueeze(var, -1)
        elif tuple(var.shape) != (*input.shape[:-1], 1):
            raise ShapeMismatch(f"gaussian_nll_loss: a variance of shape {list(var.shape)} for {list(input.shape)}")
    bounded = var + ops.detach(ops.clamp(var, min=eps) - var)  # the gradient passes the bound, as in torch
    loss = 0.5 * (ops.log(bounded) + ops.square(input - target) / bounded)
    return reduced(loss + 0.5 * log(2 * pi) if full else loss, reduction)
