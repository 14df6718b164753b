"""Lengths of vectors, and what is measured by them."""

from __future__ import annotations

from math import prod
from typing import Any

from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.dims import canonical
from gradcheck.autograd.ops.nn_common import joint_elements, kernel, one_dtype
from gradcheck.errors import ShapeMismatch


@composite(
    torch="nn.functional.normalize",
    method=False,
    kinks="0",
    samples=(
        "normalize(randn(2, 3))",
        "normalize(randn(2, 3), p=1, dim=0)",
        "normalize(randn(2, 3, 2), 3.0, -1, 1e-5)",
        "normalize(randn(4), dim=0)",
    ),
)
@kernel
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """Divided by the p-norm along `dim`, or by `eps` where that is larger."""
    return input / ops.clamp(ops.norm(input, p, dim, True), min=eps)


def _joint(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that both are broadcast to, made of their own sizes."""
    if len(a) < len(b):
        a, b = b, a
    pairs = zip(a[len(a) - len(b) :], b, strict=True)
    return (*a[: len(a) - len(b)], *(n if m == 1 else m for n, m in pairs))


@composite(
    kinks="0",
    method=False,
    elements=joint_elements,
    samples=(
        "cosine_similarity(randn(2, 3), randn(2, 3))",
        "cosine_similarity(randn(2, 3), randn(3), dim=-1)",
        "cosine_similarity(randn(2, 3, 2), randn(2, 1, 2), 0)",
        "cosine_similarity(randn(3), randn(3), dim=0, eps=1e-6)",
    ),
)
@kernel
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along `dim`; norms count as at least `eps`."""
    shape = _joint(x1.shape, x2.shape)
    axis = canonical(dim, len(shape)) - len(shape)
    spread = (x if tuple(x.shape) == shape else ops.broadcast_to(x, shape) for x in (x1, x2))
    norms = [ops.clamp(ops.norm(x, 2, axis, True), min=eps) for x in spread]
    return ops.sum((x1 / norms[0]) * (x2 / norms[1]), axis)


@composite(
    torch="nn.functional.pairwise_distance",
    method=False,
    elements=joint_elements,
    kinks="equal vectors",
    samples=(
        "pairwise_distance(randn(2, 3), randn(2, 3))",
        "pairwise_distance(randn(2, 3), randn(3), 1.0, keepdim=True)",
        "pairwise_distance(randn(3), randn(3), p=3, eps=0.01)",
    ),
)
@kernel
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of `x1 - x2 + eps` along the last dimension."""
    return ops.norm(x1 - x2 + eps, p, -1, keepdim)


@composite(
    method=False,
    kinks="equal vectors",
    samples=(
        "cdist(randn(2, 3), randn(4, 3))",
        "cdist(randn(2, 2, 3), randn(4, 3), p=1.0)",
        "cdist(randn(0, 3), randn(4, 3))",
    ),
    elements=lambda x1, x2, p=2.0: prod(x1.shape) * x2.shape[-2],
)
@kernel
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """The p-norm distance of each row of `x1`, (…, m, d), from each row of `x2`, (…, n, d): (…, m, n)."""
    one_dtype("cdist", x1, x2)
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeMismatch(f"cdist: rows of shapes {list(x1.shape)} and {list(x2.shape)} have no distance")
    return ops.norm(ops.unsqueeze(x1, -2) - ops.unsqueeze(x2, -3), p, -1)
