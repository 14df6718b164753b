"""Rare arithmetic: signs, powers of 2, neighbours; bounded norms."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, elementwise, op, row
from gradcheck.autograd.ops.common.arguments import require_floating
from gradcheck.autograd.ops.common.dims import canonical_dim
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.exp_log_pow import pow as power
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch

_TWO = ((-3.0, 3.0), (-3.0, 3.0))
_of_two: Any = partial(row, takes="bif", floating=True, domain=_TWO)

# Of two ----------------------------------------------------------------------------------------------


def _copysign_rule(g: Any, y: Any, x: Any, other: Any) -> Any:
    """The slope is 1 or -1, and 0 at 0."""
    flat = x == 0
    return where(flat, 0, g * (y / where(flat, 1, x)))


copysign = _of_two(
    "copysign", "The size of the first with the sign of the second, that of a zero too.",
    np.copysign, (_copysign_rule, lambda g, y, x, other: g * 0), kinks="0",
    samples="copysign(tensor([1.0, 0.0, -2.0]), tensor([-0.0, -1.0, 3.0])); copysign(randn(3), -2)",
)  # fmt: skip


def _exp2_share(a: Any, b: Any) -> Any:
    """Return the share of `2**a` in `2**a + 2**b`."""
    return where(a == b, 0.5, 1 / (1 + ops.exp2(b - a)))


logaddexp2 = _of_two(
    "logaddexp2", "The base-2 logarithm of `2**input + 2**other`.", np.logaddexp2,
    (lambda g, y, a, b: g * _exp2_share(a, b), lambda g, y, a, b: g * _exp2_share(b, a)), takes="f", method=True,
)  # fmt: skip


nextafter = _of_two(
    "nextafter", "The next number that the dtype has after the first, towards the second.", np.nextafter,
    (lambda g, y, x, other: where(x == other, 0, g), lambda g, y, x, other: g * 0), takes="f",
    floating=False, kinks="equal numbers", samples="nextafter(tensor([0.0, 1.0]), tensor([1.0, -1.0]))",
)  # fmt: skip


@elementwise(
    (lambda g, y, x, values: g * 0, lambda g, y, x, values: where(x == 0, g, 0)), takes="bif", domain=_TWO, kinks="0",
    uniform=True,
    samples="heaviside(tensor([-1.0, 0.0, 2.0, nan]), tensor([0.3, 0.5, 0.7, 0.9])); heaviside(randn(2, 3), randn(3))",
)  # fmt: skip
def heaviside(input: Any, values: Any) -> Any:
    """1 above 0, `values` at 0, and 0 below; torch has no gradient of it."""
    return np.where(input == 0, values, input > 0).astype(input.dtype, copy=False)


@composite(samples="ldexp(randn(3), tensor([1, 0, -2])); ldexp(randn(2, 3), randn(3))")
def ldexp(input: Any, other: Any) -> Any:
    """`input * 2**other`."""
    kind = default_dtype() if input.dtype.kind in "biu" else input.dtype
    return input * power(2.0, ops.to(other, kind) if other.dtype.kind in "biu" else other)


@op(torch="", method=False, samples="binary_exponent(tensor([0.0, 1.0, -6.0]))")
def binary_exponent(input: Any) -> Any:
    """The exponent of the smallest larger power of 2; 0 for 0."""
    return np.frexp(input)[1].astype(np.int32)


@composite(kinks="powers of 2", samples="frexp(4 * randn(5)); frexp(tensor([0.0, 1.0, -6.0]))")
def frexp(input: Any) -> Any:
    """A mantissa of magnitude 1/2 to 1, and the exponent of 2."""
    if input.dtype.kind not in "fV":
        raise DtypeMismatch(f"frexp takes floating numbers, not {input.dtype}")
    exponent = binary_exponent(ops.detach(input))
    return input * power(2.0, ops.to(-exponent, input.dtype)), exponent


_DOUBLES = {"b": np.float64, "i": np.float64, "u": np.float64, "f": np.float64, "c": np.complex128, "V": np.float64}


def _double(value: Any) -> Any:
    return ops.to(value, np.dtype(_DOUBLES[value.dtype.kind])) if hasattr(value, "dtype") else value


@composite(
    samples="float_power(uniform(0.1, 2, [3]), 2); float_power(2, randn(3)); float_power(tensor([1, 2]), randn(2))"
)
def float_power(input: Any, exponent: Any) -> Any:
    """`input ** exponent`, in double precision."""
    return power(_double(input), _double(exponent))


# Along dimensions ------------------------------------------------------------------------------------


@composite(
    kinks="where a norm meets its bound", samples="renorm(3 * randn(2, 3), 2, 0, 1.5); renorm(randn(2, 3, 2), 1, -1, 2)"
)
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Slices along `dim` scaled down to a p-norm of `maxnorm`."""
    require_floating("renorm", input.dtype)
    if input.ndim < 2:
        raise ShapeMismatch(f"renorm takes at least 2 dimensions, not {input.ndim}")
    if p <= 0 or maxnorm < 0:
        raise ArgumentError(f"renorm takes a p above 0 and a norm of at least 0, not {p} and {maxnorm}")
    axis = canonical_dim(dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d != axis)
    size = getattr(ops, "linalg.vector_norm")(input, p, others, True)
    return input * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


_PIECES = ("sum", "mean", "max", "min", "prod")


def _bounds(lengths: Any, offsets: Any, axis: int, size: int | None) -> np.ndarray:
    """Return the bounds of segments, (…, segments + 1)."""
    if (lengths is None) == (offsets is None):
        raise ArgumentError("segment_reduce takes either lengths or offsets")
    if offsets is not None:
        return np.asarray(ops.detach(offsets))
    counts = np.asarray(ops.detach(lengths))
    if (
        counts.ndim != axis + 1
        or (counts.size and counts.min() < 0)
        or (size is not None and np.any(counts.sum(-1) != size))
    ):
        raise ShapeMismatch(f"segment_reduce: lengths of shape {list(counts.shape)} do not add up to {size}")
    return np.concatenate([np.zeros((*counts.shape[:-1], 1), np.int64), np.cumsum(counts, -1)], -1)


@composite(
    method=False,
    kinks="ties",
    samples="""
        {}(randn(5, 2), 'sum', lengths=tensor([2, 3])); {}(randn(4), 'mean', lengths=tensor([1, 3]));
        {}(randn(2, 4), 'max', offsets=tensor([[0, 1, 4], [0, 2, 4]]), axis=1, initial=-5.0);
        {}(randn(4), 'prod', lengths=tensor([3, 0, 1]), initial=2)
    """,
)
def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
    unsafe: bool = False, initial: Any = None,
) -> Any:  # fmt: skip
    """Each segment along `axis` reduced, from `initial` on."""
    if reduce not in _PIECES or indices is not None:
        raise ArgumentError(f"segment_reduce has no reduction {reduce!r}", hint=f"one of {', '.join(_PIECES)}")
    where_ = canonical_dim(axis, data.ndim)
    bounds = _bounds(lengths, offsets, where_, None if unsafe else int(data.shape[where_]))
    lead, many = tuple(map(int, data.shape[:where_])), bounds.shape[-1] - 1
    inside = not bounds.size or (bounds.min() >= 0 and bounds.max() <= data.shape[where_])
    if bounds.shape[:-1] != lead or not inside or np.any(np.diff(bounds) < 0):
        raise ShapeMismatch(f"segment_reduce: segments of shape {list(bounds.shape)} do not fit {list(data.shape)}")
    rest = tuple(map(int, data.shape[where_ + 1 :]))
    rows = ops.reshape(data, (prod(lead), int(data.shape[where_]), *rest))
    found = []
    for row_, ends in zip(range(prod(lead)), bounds.reshape(-1, many + 1), strict=True):
        for start, end in pairwise(ends):
            found.append(_one_segment(rows[row_, int(start) : int(end)], reduce, initial))
    blank = ops.zeros((0, *rest), dtype=data.dtype)
    return ops.reshape(ops.stack(found, 0) if found else blank, (*lead, many, *rest))


def _one_segment(part: Any, reduce: str, initial: Any) -> Any:
    """Reduce one segment as torch does; `initial` counts in a sum."""
    if reduce in ("max", "min"):
        start = initial if initial is not None else -math.inf if reduce == "max" else math.inf
    else:
        start = initial if initial is not None else {"prod": 1.0}.get(reduce, 0.0)
    first = ops.full((1, *part.shape[1:]), float(start), dtype=part.dtype)
    whole = ops.cat([first, part], 0)
    if reduce == "mean":
        if not part.shape[0]:
            return ops.full(tuple(part.shape[1:]), math.nan if initial is None else float(initial), dtype=part.dtype)
        return ops.sum(whole, 0) / int(part.shape[0])
    return {"sum": ops.sum, "prod": ops.prod, "max": ops.amax, "min": ops.amin}[reduce](whole, 0)


# Inside of torch -------------------------------------------------------------------------------------


def _clip_indices(input: Any, mask: Any, indices: Any) -> tuple[Any, ...]:
    """Clip indices into the tensor; None stands for a whole dimension."""
    return tuple(
        slice(None) if index is None else ops.clamp(index, -int(size), int(size) - 1)
        for index, size in zip(indices, input.shape, strict=False)
    )


_MASKED = "tensor([True, False, True]), [tensor([0, 9, 1])]"


@composite(
    name="_unsafe_masked_index",
    method=False,
    samples="{}(randn(3, 2), tensor([[True], [False], [True]]), [tensor([0, 9, 1])], 1.5)",
)
def unsafe_masked_index(input: Any, mask: Any, indices: Any, fill: Any) -> Any:
    """`input[indices]` where `mask` is true, else `fill`."""
    return ops.where(mask, input[_clip_indices(input, mask, indices)], fill)


@composite(name="_unsafe_masked_index_put_accumulate", method=False, samples=f"{{}}(randn(3), {_MASKED}, randn(3))")
def unsafe_masked_put(input: Any, mask: Any, indices: Any, values: Any) -> Any:
    """`input` with `values` added at `[indices]` where `mask` is true."""
    index = _clip_indices(input, mask, indices)
    added = ops.where(mask, values, 0.0)
    return input + ops.index_adjoint(added, index, tuple(input.shape))
