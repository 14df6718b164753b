"""Normalization to mean 0 and variance 1, or to norm 1.

Sources: batch_norm: Ioffe and Szegedy 2015; layer_norm: Ba, Kiros, Hinton 2016; instance_norm: Ulyanov, Vedaldi,
Lempitsky 2016; group_norm: Wu and He 2018; rms_norm: Zhang and Sennrich 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import REAL_FLOATING
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op, require_one_float_dtype
from gradcheck.errors import ArgumentError, IndexOutOfRange, ShapeMismatch


def scale_and_shift(normal: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        normal = normal * weight
    return normal if bias is None else normal + bias


def _normalized_dims(name: str, input: Any, normalized_shape: Any, **parameters: Any) -> tuple[int, ...]:
    """Return the dimensions of `normalized_shape`, after checking shapes."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise ArgumentError(f"{name}: normalized_shape must be a list of sizes, not {normalized_shape!r}")
    sizes = [require_integer(size, "a size") for size in normalized_shape]
    if not sizes or list(input.shape[-len(sizes) :]) != sizes:
        raise ShapeMismatch(f"{name}: an input of shape {list(input.shape)} does not end in {sizes}")
    for title, parameter in parameters.items():
        if parameter is not None and list(parameter.shape) != sizes:
            raise ShapeMismatch(f"{name}: the {title} has shape {list(parameter.shape)}, expected {sizes}")
    return tuple(range(-len(sizes), 0))


def _standardized(input: Any, dims: tuple[int, ...], eps: float) -> Any:
    """Subtract the mean over `dims`, and divide by the deviation."""
    centered = input - ops.mean(input, dims, True)
    return centered * ops.rsqrt(ops.mean(ops.square(centered), dims, True) + eps)


@nn_functional_op(
    dtypes={"input": REAL_FLOATING},
    samples="""
        {}(randn(2, 5), [5]); {}(randn(2, 5), (5,), randn(5), randn(5));
        {}(randn(2, 3, 4), [3, 4], weight=randn(3, 4), eps=0.1); {}(randn(2, 5), [5], None, randn(5));
        {}(1e4 * randn(2, 5), [5]); {}(randn(0, 5), [5])
    """,
)
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over the last dimensions; scaled and shifted."""
    require_one_float_dtype("layer_norm", input, weight, bias)
    dims = _normalized_dims("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    return scale_and_shift(_standardized(input, dims, eps), weight, bias)


@nn_functional_op(
    samples="""
        {}(randn(2, 5), [5]); {}(randn(2, 3, 4), (3, 4), randn(3, 4), 0.1); {}(randn(2, 5), [5], weight=randn(5))
    """,
)
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Divided by the root mean square over the last dimensions."""
    dims = _normalized_dims("rms_norm", input, normalized_shape, weight=weight)
    small = float(np.finfo(input.dtype).eps) if eps is None else eps
    return scale_and_shift(input * ops.rsqrt(ops.mean(ops.square(input), dims, True) + small), weight, None)


def _channels(value: Any, input: Any, what: str) -> Any:
    """Shape a vector of channels to broadcast with `input`, or None."""
    if value is None:
        return None
    if list(value.shape) != [input.shape[1]]:
        needed = f"for {input.shape[1]} channels it must be [{input.shape[1]}]"
        raise ShapeMismatch(f"the {what} has shape {list(value.shape)}; {needed}")
    return ops.reshape(value, (1, value.shape[0]) + (1,) * (input.ndim - 2))


def move_statistics(running: Any, batch: Any, moment: Callable[[np.ndarray], Any], momentum: float) -> None:
    """Move a running statistic towards the batch's, in place.

    A read-only array, as the names of a claim are, stays: one claim must not change what others are about. Raises
    ValueError for another object that cannot be written to."""
    if running is None or not hasattr(batch, "__array__"):  # residues of exact arithmetic have no statistics
        return
    values, known = np.asarray(batch), np.asarray(running)
    if values.size and not (known is running and not known.flags.writeable):
        known[...] = (1 - momentum) * known + momentum * moment(values).reshape(known.shape)


@nn_functional_op(
    dtypes={"input": REAL_FLOATING},
    samples="""
        {}(randn(4, 3), None, None, training=True);
        {}(randn(4, 3), detach(zeros(3)), detach(ones(3)), randn(3), randn(3), True);
        {}(randn(4, 3), detach(randn(3)), detach(rand(3)), randn(3), randn(3));
        {}(randn(2, 3, 2, 2), None, None, randn(3), None, True, 0.1, 0.01);
        {}(randn(4, 3), detach(randn(3)), detach(rand(3) + 1), eps=0.0)
    """,
)
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel (dimension 1).

    In training, of the batch; the running statistics then move towards the batch's in place, with the unbiased
    variance.
    """
    if input.ndim == 1 and not input.shape[0]:
        return ops.clone(input)
    if input.ndim < 2:
        raise IndexOutOfRange(f"batch_norm takes at least 2 dimensions, (N, C, …), not {input.ndim}")
    if (running_mean is None) != (running_var is None):
        raise ArgumentError("batch_norm takes both running_mean and running_var, or neither")
    require_one_float_dtype("batch_norm", input, running_mean, running_var, weight, bias)
    if eps < 0 or (training and eps == 0):
        raise ArgumentError(f"batch_norm takes an eps of at least 0, and above 0 in training, not {eps}")
    weight, bias = _channels(weight, input, "weight"), _channels(bias, input, "bias")
    mean, var = _channels(running_mean, input, "running mean"), _channels(running_var, input, "running variance")
    if not training:
        if mean is None or var is None:
            raise ArgumentError("batch_norm outside of training needs running_mean and running_var")
        return scale_and_shift((input - mean) * ops.rsqrt(var + eps), weight, bias)
    dims = (0, *range(2, input.ndim))
    if prod(int(input.shape[d]) for d in dims) == 1:
        raise ShapeMismatch(f"batch_norm in training needs more than 1 value a channel, not shape {list(input.shape)}")
    move_statistics(running_mean, ops.detach(input), lambda x: x.mean(dims), momentum)
    move_statistics(running_var, ops.detach(input), lambda x: x.var(dims, ddof=1), momentum)
    return scale_and_shift(_standardized(input, dims, eps), weight, bias)


@nn_functional_op(
    dtypes={"input": REAL_FLOATING},
    samples="""
        {}(randn(2, 6), 2); {}(randn(2, 4, 3), 2, randn(4), randn(4));
        {}(randn(2, 4, 3), num_groups=1, weight=randn(4), eps=0.1)
    """,
)
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over each group of channels."""
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ShapeMismatch(f"group_norm: {num_groups} groups of the channels of {list(input.shape)}")
    require_one_float_dtype("group_norm", input, weight, bias)
    rest = 0 if 0 in input.shape else -1
    parted = ops.reshape(input, (input.shape[0], num_groups, rest))
    normal = ops.reshape(_standardized(parted, (2,), eps), input.shape)
    return scale_and_shift(normal, _channels(weight, input, "weight"), _channels(bias, input, "bias"))


@nn_functional_op(
    dtypes={"input": REAL_FLOATING},
    samples="""
        {}(randn(2, 3, 4)); {}(randn(2, 3, 4), weight=randn(3), bias=randn(3));
        {}(randn(2, 3, 4), detach(zeros(3)), detach(ones(3)), randn(3));
        {}(randn(2, 3, 4), detach(randn(3)), detach(rand(3)), use_input_stats=False)
    """,
)
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel of each instance.

    With `use_input_stats`, the running statistics move towards the mean over instances, in place; without, they are
    used.
    """
    if input.ndim < 3:
        raise ShapeMismatch(f"instance_norm takes at least 3 dimensions, (N, C, …), not {input.ndim}")
    if (running_mean is None) != (running_var is None):
        raise ArgumentError("instance_norm takes both running_mean and running_var, or neither")
    require_one_float_dtype("instance_norm", input, running_mean, running_var, weight, bias)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if prod(int(size) for size in input.shape[2:]) == 1:
        raise ShapeMismatch(f"instance_norm needs more than 1 value a channel, not shape {list(input.shape)}")
    inside = tuple(range(2, input.ndim))
    move_statistics(running_mean, ops.detach(input), lambda x: x.mean(inside).mean(0), momentum)
    move_statistics(running_var, ops.detach(input), lambda x: x.var(inside, ddof=1).mean(0), momentum)
    normal = _standardized(input, inside, eps)
    return scale_and_shift(normal, _channels(weight, input, "weight"), _channels(bias, input, "bias"))


@nn_functional_op(
    kinks="0",
    samples="{}(randn(2, 3)); {}(randn(2, 3), p=1, dim=0); {}(randn(2, 3, 2), 3.0, -1, 1e-5); {}(randn(4), dim=0)",
)
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """Divided by the p-norm along `dim`, or by `eps` where that is larger."""
    return input / ops.clamp(ops.norm(input, p, dim, True), min=eps)
