"""Which kinds of numbers an op takes."""

from __future__ import annotations

from typing import Any

from gradcheck.errors import DtypeMismatch


def refuse_complex(name: str, *arrays: Any) -> None:
    """Raise DtypeMismatch where torch has no complex form: complex numbers have no order."""
    for array in arrays:
        if array is not None and array.dtype.kind == "c":
            raise DtypeMismatch(f"{name} does not take complex numbers ({array.dtype})")


def converted(array: Any, dtype: Any) -> Any:
    """The array in this dtype; complex numbers leave their imaginary part behind where it is real."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    return array.astype(dtype, copy=False)


def require_floating(name: str, array: Any) -> None:
    """Raise DtypeMismatch for integers and booleans where torch does not turn them into floats by itself."""
    if array.dtype.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating or complex numbers, not {array.dtype}")
