"""An op's forward on plain arrays: dtypes promoted as torch promotes them, half precision computed in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import default_dtype
from gradcheck.errors import ArgumentError, DtypeMismatch

if TYPE_CHECKING:
    from gradcheck.autograd.op import Op

_ARRAYS = (np.ndarray, np.generic)
_OPERANDS = (np.ndarray, np.generic, bool, int, float, complex)


def compute(op: Op, args: list[Any]) -> Any:
    """Promote, compute (halves in float32, as torch does on a CPU), and round back."""
    target: np.dtype | None = None
    if op.elementwise:
        args, target = _promote(op, args)
        if "bifc"[dtypes.category(target)] not in op.takes:
            raise DtypeMismatch(f"{op.name} does not take {target}")
    sequence = args[op.sequence] if op.sequence is not None else ()
    arrays = [a for a in (*args, *sequence) if isinstance(a, _ARRAYS)]
    if op.uniform:
        require_one_dtype(op.name, *arrays)
    if not op.rounds and any(a.dtype in dtypes.HALVES for a in arrays):
        if target is None:
            target = dtypes.result_dtype([a for a in arrays if a.dtype.kind in "fVc"])
        return _lower(op.forward(*_raise_halves(op, args)), target)
    result = op.forward(*args)
    return result if isinstance(result, (np.ndarray, tuple)) else np.asarray(result)


def require_one_dtype(name: str, *tensors: Any) -> None:
    """Raise DtypeMismatch unless all `tensors` have the same dtype."""
    found = {tensor.dtype for tensor in tensors}
    if len(found) > 1:
        words = " and ".join(sorted(str(dtype) for dtype in found))
        raise DtypeMismatch(f"{name}: expected all tensors to have the same dtype, not {words}")


def _promote(op: Op, args: list[Any]) -> tuple[list[Any], np.dtype]:
    start, stop = int(op.masked), len(op.rules)
    operands = [a for a in args[start:stop] if isinstance(a, _OPERANDS)]
    if not operands:
        raise ArgumentError(f"{op.name} takes tensors and numbers, not {args[start]!r:.60}")
    first = getattr(operands[0], "dtype", None)
    becomes_floating = op.floating and first is not None and first.kind in "biu"
    if first is not None and not becomes_floating and all(getattr(a, "dtype", None) is first for a in operands):
        return args, first
    target = dtypes.result_dtype(operands)
    if op.floating and target.kind in "biu":
        target = default_dtype()
    for i in range(start, stop):
        if isinstance(args[i], _OPERANDS):
            args[i] = np.asarray(args[i], dtype=target)
    return args, target


def _raise_halves(op: Op, args: list[Any]) -> list[Any]:
    def raised(value: Any) -> Any:
        if isinstance(value, _ARRAYS) and value.dtype in dtypes.HALVES:
            return value.astype(np.float32)
        return value

    return [[raised(v) for v in a] if i == op.sequence else raised(a) for i, a in enumerate(args)]


def _lower(result: Any, target: np.dtype) -> Any:
    if isinstance(result, tuple):
        return tuple(_lower(part, target) for part in result)
    array = np.asarray(result)
    return array.astype(target) if array.dtype == np.float32 else array
