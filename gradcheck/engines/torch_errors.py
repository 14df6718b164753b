"""torch's exceptions as gradcheck's errors, by their class and text.

The checks of arguments at the end precede calls on which torch may crash, or allocate without limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

from gradcheck.autograd.ops.common.dims import canonical_dim, canonical_dims
from gradcheck.autograd.ops.common.lapack import ITERATED, NOT_FINITE
from gradcheck.engines.base import ILL_DEFINED, as_tensor_error
from gradcheck.engines.torch_versions import missing_derivative_error, missing_kernel_dtype
from gradcheck.errors import (
    ArgumentError,
    BackwardTwice,
    DomainError,
    DtypeMismatch,
    IndexOutOfRange,
    NoGradRequired,
    NonScalarBackward,
    ShapeMismatch,
    TensorError,
    Unsupported,
    exception_text,
)

#: The first pattern that the text matches, ignoring case, decides; specific patterns come first.
_MEANINGS = (
    (NonScalarBackward, "grad can be implicitly created only for"),
    (NoGradRequired, "does not require grad and does not have a grad_fn"),
    (BackwardTwice, "backward through the graph a second time|after they have already been freed"),
    (
        DomainError,
        "singular|not positive-definite|failed to converge|not invertible|only be raised to a? ?non-negative"
        "|negative integer powers|zerodivisionerror|elements of input should be between 0 and 1",
    ),
    (
        ArgumentError,
        r"is not a valid value for|(must|has to) be between [\d.]+ and|eps must be"
        "|does not support (non-positive|negative) values|must be defined in evaluation mode"
        "|(non-positive|negative) (stride|padding|groups) is not supported|pad must be non-negative|padding string"
        "|(stride|dilation) should|mask should not be set|strided convolutions|padding mode|must be tuple of ints",
    ),
    (
        IndexOutOfRange,
        r"class values must be|padding_idx must be|index \S+ is out of bounds|out of range|too many indices"
        r"|out of bounds|length \S+ exceeds dimension size|index out of range",
    ),
    (
        DtypeMismatch,
        "longtensor|dtype|scalar type|not implemented for '|can't be cast|data type|expects floating point"
        "|floating.point|not supported on bool|same type|operator, on|only integer tensors|tensors used as indices"
        "|cannot be converted to type|expected .* tensor.* but got .* type|complex",
    ),
    (
        ShapeMismatch,
        r"should contain \S+ elements|number of columns|padding length|padding value causes|narrow|a single int"
        r"|shape|size|dimension|broadcast|must be a matrix|must be batches of square|\b[0-9]d\b|[0-9]-d\b|numel"
        "|number of elements|non-empty|square|same length|einsum|at least|subscript|vector|dim ",
    ),
)

#: Messages of torch, and of libraries that it calls, for a failed allocation.
_NO_MEMORY = re.compile("can't allocate memory|bad_alloc|bad alloc|out of memory|insufficient memory", re.IGNORECASE)


def translate(error: Exception) -> TensorError:
    """Return torch's exception as gradcheck's, without advice and C++ stack.

    An unknown one has the kind `error`; one that names a missing feature has `lacks`. Raises MemoryError if torch has
    run out of memory."""
    if isinstance(error, TensorError):  # raised before torch is called
        return error
    found = _translated(error)
    found.is_own_message = False
    if isinstance(found, DtypeMismatch) and (dtype := missing_kernel_dtype(found.message)):
        found.lacks = f"code for {dtype}"
    return found


def _translated(error: Exception) -> TensorError:
    message = f"torch: {(exception_text(error) or type(error).__name__).splitlines()[0]}"
    if _NO_MEMORY.search(message):
        raise MemoryError(message) from None
    if "ill-defined" in message:
        return as_tensor_error(Unsupported(message, lacks=ILL_DEFINED))
    if isinstance(error, IndexError):
        return IndexOutOfRange(message)
    if isinstance(error, ZeroDivisionError) or type(error).__name__ == "_LinAlgError":
        return DomainError(message)
    if isinstance(error, NotImplementedError) and "forward" in message:
        return as_tensor_error(Unsupported(message, lacks="forward mode"))
    if isinstance(error, NotImplementedError) and "derivative" not in message:
        return DtypeMismatch(message)
    if "is not implemented" in message and "derivative" in message:
        return as_tensor_error(missing_derivative_error(message))
    for kind, pattern in _MEANINGS:
        if re.search(pattern, message, re.IGNORECASE):
            return kind(message)
    return ArgumentError(message) if isinstance(error, TypeError) else TensorError(message)


def _attention(query: Any, key: Any, value: Any, *rest: Any) -> None:
    """Check that keys and values match, and that shared heads exist."""
    if rest[-1] and 0 in (*key.shape[-3:-2], *value.shape[-3:-2]):
        raise ShapeMismatch(f"scaled_dot_product_attention: no heads in {list(key.shape)} and {list(value.shape)}")
    if key.ndim > 1 and value.ndim > 1 and key.shape[-2] != value.shape[-2]:
        raise ShapeMismatch(f"scaled_dot_product_attention: {key.shape[-2]} keys and {value.shape[-2]} values")


def _rows(input: Any, *_: Any) -> None:
    if input.ndim and not input.shape[0]:
        raise Unsupported("torch cannot take pdist of no rows", lacks="pdist of no rows")


def _normalized(input: Any, *_: Any) -> None:
    if not prod(input.shape):
        raise Unsupported("torch cannot normalize a batch without elements", lacks="batch norm of no elements")


def _labels(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, *_: Any) -> None:
    """Check that each target is a class, ignoring those beyond its length."""
    sizes = _listed(target_lengths)
    if targets.ndim == 2:
        too_long = len(sizes) > targets.shape[0] or max(sizes, default=0) > targets.shape[1]
        rows = [row[: max(size, 0)] for row, size in zip(targets, sizes, strict=False)]
    else:
        too_long = sum(sizes) > targets.numel()
        rows = [targets[: max(sum(sizes), 0)]]
    if too_long or min(sizes, default=0) < 0:
        raise IndexOutOfRange(f"ctc_loss: lengths {sizes} of targets of shape {list(targets.shape)}")
    _check_indices("ctc_loss", rows, int(log_probs.shape[-1]))


def _pooled(grad_output: Any, self: Any, *rest: Any) -> None:
    _check_indices("max_pool2d_with_indices_backward", [rest[-1]], prod(self.shape[-2:]))


def _segments(data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int = 0, *_: Any) -> None:
    """Check that segments lie within the dimension, for each index before it."""
    place = canonical_dim(axis, data.ndim)
    size, given = data.shape[place], lengths if offsets is None else offsets
    if given is None:
        return
    if tuple(given.shape[:-1]) != tuple(data.shape[:place]):
        raise ShapeMismatch(f"segment_reduce: segments of shape {list(given.shape)} for {list(data.shape)}")
    for row in given.reshape(-1, given.shape[-1]).tolist():
        fits = min(row, default=0) >= 0
        fits &= sum(row) <= size if offsets is None else all(a <= b for a, b in pairwise([*row, size]))
        if not fits:
            raise ShapeMismatch(f"segment_reduce: segments {row} of {size} elements")


def _grouped(input: Any, weight: Any, bias: Any, *settings: Any) -> None:
    """Check the written sizes, by which torch allocates."""
    batch, channels, rest, groups = settings[:4]
    if prod(input.shape) != batch * channels * rest or groups < 1 or channels % groups:
        raise ShapeMismatch(
            f"native_group_norm: {list(input.shape)} is not {batch} by {channels} by {rest} in {groups} groups"
        )


def _placed(input: Any, grid: Any, mode: Any, padding: Any = "zeros", *_: Any) -> None:
    """Check that places are finite where torch makes indices of all of them."""
    if padding not in ("zeros", 0) and not grid.detach().isfinite().all():
        raise Unsupported("torch cannot pad samples at NaN or infinity", lacks="padded samples at no finite place")


def _iterated(op: str, *bound: Any) -> None:
    """Check that LAPACK gets finite numbers, else it may corrupt memory."""
    for tensor in ITERATED[op](*bound):
        if not tensor.detach().isfinite().all():
            raise DomainError(f"{op}: {NOT_FINITE}")


def _check_indices(name: str, several: list[Any], count: int) -> None:
    for indices in several:
        if indices.numel() and not 0 <= int(indices.min()) <= int(indices.max()) < count:
            raise IndexOutOfRange(f"{name}: an index from {int(indices.min())} to {int(indices.max())} into {count}")


def _listed(lengths: Any) -> list[int]:
    return list(map(int, lengths.reshape(-1).tolist() if hasattr(lengths, "dtype") else lengths))


#: The check of an op's arguments, given in the order of its signature, by the op's name.
GUARDS: dict[str, Callable[..., object]] = {
    **{op: partial(_iterated, op) for op in ITERATED},
    "scaled_dot_product_attention": _attention,
    "native_group_norm": _grouped,
    "pdist": _rows,
    **dict.fromkeys(("grid_sample", "grid_sampler", "grid_sampler_2d"), _placed),
    **dict.fromkeys(("_fft_c2c", "_fft_r2c", "_fft_c2r"), lambda input, dim, *_: canonical_dims(dim, input.ndim)),
    **dict.fromkeys(("native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"), _normalized),
    "ctc_loss": _labels,
    "max_pool2d_with_indices_backward": _pooled,
    "segment_reduce": _segments,
}
