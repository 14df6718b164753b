"""torch's exceptions as gradcheck's errors, by their class and text."""

from __future__ import annotations

import re

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
