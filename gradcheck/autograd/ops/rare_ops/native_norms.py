"""torch's internal normalizations, which return statistics too.

Their statistics pass no gradient, as in torch, except for `native_group_norm`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.normalization import move_statistics, scale_and_shift
from gradcheck.errors import ArgumentError, ShapeMismatch


def _normal(input: Any, dims: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """Return standardized values, the mean and the reciprocal deviation."""
    mean = ops.mean(input, dims, True)
    away = input - mean
    scale = ops.rsqrt(ops.mean(ops.square(away), dims, True) + eps)
    return away * scale, mean, scale


@composite(
    method=False,
    samples="{}(randn(2, 5), [5], randn(5), randn(5), 1e-5); {}(randn(2, 3, 4), (3, 4), None, None, 0.1)",
)
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """`layer_norm`, the mean and the reciprocal deviation."""
    sizes = [require_integer(n, "a size") for n in normalized_shape]
    if not sizes or list(input.shape[-len(sizes) :]) != sizes:
        raise ShapeMismatch(f"native_layer_norm: an input of shape {list(input.shape)} does not end in {sizes}")
    if any(p is not None and list(p.shape) != sizes for p in (weight, bias)):
        raise ShapeMismatch(f"native_layer_norm: weight and bias must have the shape {sizes}")
    if not prod(map(int, input.shape)):
        blank = ops.zeros([*input.shape[: -len(sizes)], *[1] * len(sizes)], dtype=input.dtype)
        return scale_and_shift(input, weight, bias), blank, blank * np.nan
    normal, mean, scale = _normal(input, tuple(range(-len(sizes), 0)), eps)
    return scale_and_shift(normal, weight, bias), ops.detach(mean), ops.detach(scale)


@composite(
    method=False,
    samples="{}(randn(2, 4, 3), randn(4), randn(4), 2, 4, 3, 2, 1e-5); {}(randn(2, 4), None, None, 2, 4, 1, 2, 0.1)",
    elements=lambda input, weight, bias, N, C, HxW, group, eps: prod(map(int, input.shape)) + 2 * abs(N * group),
)
def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    """`group_norm`, the mean and the reciprocal deviation of each group."""
    if prod(map(int, input.shape)) != N * C * HxW or group < 1 or C % group:
        raise ShapeMismatch(f"native_group_norm: {list(input.shape)} is not {N} by {C} by {HxW} in {group} groups")
    if any(p is not None and list(p.shape) != [C] for p in (weight, bias)):
        raise ShapeMismatch(f"native_group_norm: weight and bias must have the shape [{C}]")
    shape = (1, C) + (1,) * (input.ndim - 2)
    weight, bias = (None if p is None else ops.reshape(p, shape) for p in (weight, bias))
    parted = ops.reshape(input, (N, group, C // group * HxW))
    normal, mean, scale = _normal(parted, (2,), eps)
    found = scale_and_shift(ops.reshape(normal, tuple(input.shape)), weight, bias)
    return found, ops.squeeze(mean, -1), ops.squeeze(scale, -1)


def _batch(
    input: Any, parameters: tuple[Any, ...], running: tuple[Any, ...], training: bool, momentum: float, eps: float
) -> Any:
    """Return `batch_norm`, the batch's mean and reciprocal deviation."""
    if input.ndim < 2:
        raise ShapeMismatch(f"batch norms take at least 2 dimensions, (N, C, …), not {input.ndim}")
    shape = (1, input.shape[1]) + (1,) * (input.ndim - 2)
    weight, bias = (None if p is None else ops.reshape(p, shape) for p in parameters)
    if not training:
        if running[0] is None or running[1] is None:
            raise ArgumentError("a batch norm outside of training needs running statistics")
        mean, var = (ops.reshape(statistic, shape) for statistic in running)
        blank = ops.zeros([0], dtype=input.dtype)
        return scale_and_shift((input - mean) * ops.rsqrt(var + eps), weight, bias), blank, blank
    dims = (0, *range(2, input.ndim))
    move_statistics(running[0], ops.detach(input), lambda x: x.mean(dims), momentum)
    move_statistics(running[1], ops.detach(input), lambda x: x.var(dims, ddof=1), momentum)
    normal, mean, scale = _normal(input, dims, eps)
    flat = (input.shape[1],)
    mean, scale = (ops.detach(ops.reshape(statistic, flat)) for statistic in (mean, scale))
    return scale_and_shift(normal, weight, bias), mean, scale


@composite(
    method=False,
    samples="""
        {}(randn(4, 3), randn(3), randn(3), None, None, True, 0.1, 1e-5);
        {}(randn(4, 3), randn(3), None, detach(randn(3)), detach(rand(3)), False, 0.1, 1e-5)
    """,
)
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    """`batch_norm`, and the mean and the reciprocal deviation of the batch."""
    return _batch(input, (weight, bias), (running_mean, running_var), training, momentum, eps)


@composite(
    name="_native_batch_norm_legit",
    method=False,
    samples="{}(randn(4, 3), randn(3), None, detach(randn(3)), detach(rand(3)), False, 0.1, 1e-5)",
)
def batch_norm_legit(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: Any,
    momentum: float | None = None, eps: float | None = None,
) -> Any:  # fmt: skip
    """`native_batch_norm`, also without running statistics."""
    if momentum is None or eps is None:
        return _batch(input, (weight, bias), (None, None), running_mean, running_var, training)
    return _batch(input, (weight, bias), (running_mean, running_var), training, momentum, eps)


@composite(
    name="_batch_norm_with_update",
    torch="ops.aten._batch_norm_with_update",
    method=False,
    samples="{}(randn(4, 3), randn(3), randn(3), detach(zeros(3)), detach(ones(3)), 0.1, 1e-5)",
)
def batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> Any:
    """`native_batch_norm` in training, and torch's reserve, empty here."""
    found = _batch(input, (weight, bias), (running_mean, running_var), True, momentum, eps)
    return (*found, ops.zeros([0], dtype=np.dtype(np.uint8)))
