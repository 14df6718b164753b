"""Mistakes of representation: a lower precision, integers, NaN."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, real_of
from gradcheck.checks.closeness.compare import wide
from gradcheck.checks.closeness.tolerance import base, epsilon
from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess

#: Of an op with more tensors, only the first are tried without their fractions.
_MOST_TENSORS = 8

_LOWER: dict[str, tuple[np.dtype, ...]] = {
    "float64": (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16),
    "float32": (np.dtype(np.float16), BFLOAT16),
}


@hypothesis("dtype", covers=("factor",))
def lower_precision(e: Evidence) -> Iterator[Guess]:
    """Every element is a number that the lower precision holds, and as near to what is right as that allows."""
    if e.got is None or e.got.shape != e.want.shape or not e.want.size:
        return
    if e.got.dtype.itemsize < e.want.dtype.itemsize and e.got.dtype.kind == e.want.dtype.kind:
        text = f"its dtype is {e.got.dtype.name}, where it should be {e.want.dtype.name}"
        if _error(e) <= base(e.got.dtype).rtol:
            yield Guess("itself", text, e.got)
        return
    for dtype in _LOWER.get(real_of(e.want.dtype).name, ()):
        if epsilon(dtype) / 64 < _error(e) <= base(dtype).rtol:
            text = f"computed in {dtype.name}: the error is that of {dtype.name}"
            rounded = _rounded(e.got, dtype)
            exact = np.array_equal(rounded, e.got)
            if exact:
                text += f", and every element is a number of {dtype.name}"
            yield Guess(dtype.name, text, rounded if exact else e.got, exact)
            return


def _rounded(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if array.dtype.kind == "c":
        return np.asarray(_rounded(array.real, dtype) + 1j * _rounded(array.imag, dtype)).astype(array.dtype)
    return array.astype(dtype).astype(array.dtype)


def _error(e: Evidence) -> float:
    """The largest error, relative to the tensor's scale."""
    want = wide(e.want)
    scale = max(float(np.max(np.abs(want), initial=0.0)), e.scale)
    error = float(np.max(np.abs(wide(e.arrived) - want), initial=0.0))
    return error / scale if scale else np.inf


@hypothesis("truncated")
def truncated_result(e: Evidence) -> Iterator[Guess]:
    """What is right, rounded to integers."""
    if e.got is None or e.want.dtype.kind not in "fV":
        return
    for name, function in (("cut off", np.trunc), ("rounded down", np.floor), ("rounded", np.rint)):
        kind = f" (its dtype is {e.got.dtype.name})" if e.got.dtype.kind in "iu" else ""
        yield Guess(name, f"it is {name} to integers{kind}", function(wide(e.want)))


@hypothesis("truncated")
def truncated_arguments(e: Evidence) -> Iterator[Guess]:
    """What comes of arguments, or of an incoming gradient, without their fractions."""
    if e.rule is None:
        return
    whole = {
        position: np.trunc(tensor)
        for position, tensor in enumerate(e.rule.tensors[:_MOST_TENSORS])
        if tensor.dtype.kind == "f" and tensor.size and np.any(np.trunc(tensor) != tensor)
    }
    text = "is cut off to integers before it is used"
    for position, tensor in whole.items():
        yield Guess(position, f"tensor {position + 1} of the op {text}", e.rule.with_tensors({position: tensor}))
    incoming = e.rule.incoming
    if incoming is not None and incoming.dtype.kind == "f":
        cut = [np.trunc(incoming)]
        yield Guess("incoming", f"the incoming gradient {text}", e.rule.answer(e.rule.application, cut))


@hypothesis("nan", covers=("factor", "dtype"))
def born(e: Evidence) -> Iterator[Guess]:
    """NaN or infinity where what is right is finite, though nothing that went in was either."""
    if e.got is None or e.got.shape != e.want.shape or e.got.dtype.kind not in "fcV":
        return
    bad = ~np.isfinite(wide(e.got)) & np.isfinite(wide(e.want))
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    at = f" at [{', '.join(map(str, index))}]" if index else ""
    what = "NaN" if np.isnan(wide(e.got)[index]) else "infinity"
    if e.rule is None:
        yield Guess("nan", f"{what} appears here{at}, and in no gradient that it depends on", e.got)
        return
    value = e.rule.tensor[index] if e.rule.tensor.shape == e.want.shape else None
    where = "" if value is None else f", where its argument is {float(np.real(value)):.6g}"
    yield Guess("nan", f"{what} is born in the gradient of {e.rule.application.op.name}{at}{where}", e.got)
