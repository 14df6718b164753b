"""Mistakes of representation: a lower precision, integers, NaN."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, largest_finite, real_of, wide
from gradcheck.checks.closeness.tolerance import base, epsilon
from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess
from gradcheck.facts import fact

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
        if _error(e) <= base(e.got.dtype).rtol:
            yield Guess("itself", fact("dtype_is", got=e.got.dtype.name, want=e.want.dtype.name), e.got)
        return
    for dtype in _LOWER.get(real_of(e.want.dtype).name, ()):
        if epsilon(dtype) / 64 < _error(e) <= base(dtype).rtol:
            rounded = _rounded(e.got, dtype)
            exact = np.array_equal(rounded, e.got)
            found = fact("computed_in_dtype", dtype=dtype.name, exact=exact)
            yield Guess(dtype.name, found, rounded if exact else e.got, exact)
            return


def _rounded(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if array.dtype.kind == "c":
        return np.asarray(_rounded(array.real, dtype) + 1j * _rounded(array.imag, dtype)).astype(array.dtype)
    return array.astype(dtype).astype(array.dtype)


def _error(e: Evidence) -> float:
    """The largest error, relative to the tensor's scale."""
    want = wide(e.want)
    scale = max(largest_finite(want), e.scale)
    error = float(np.max(np.abs(wide(e.arrived) - want), initial=0.0))
    return error / scale if scale else np.inf


@hypothesis("truncated")
def truncated_result(e: Evidence) -> Iterator[Guess]:
    """What is right, rounded to integers."""
    if e.got is None or e.want.dtype.kind not in "fV":
        return
    dtype = e.got.dtype.name if e.got.dtype.kind in "iu" else ""
    for function in (np.trunc, np.floor, np.rint):
        name = function.__name__
        yield Guess(name, fact("rounded_to_integers", how=name, dtype=dtype), function(wide(e.want)))


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
    for position, tensor in whole.items():
        found = fact("argument_truncated", position=position)
        yield Guess(position, found, e.rule.with_tensors({position: tensor}))
    incoming = e.rule.incoming
    if incoming is not None and incoming.dtype.kind == "f":
        cut = [np.trunc(incoming)]
        yield Guess("incoming", fact("incoming_truncated"), e.rule.answer(e.rule.application, cut))


@hypothesis("nan", covers=("factor", "dtype"))
def born(e: Evidence) -> Iterator[Guess]:
    """NaN or infinity where what is right is finite, though nothing that went in was either."""
    if e.got is None or e.got.shape != e.want.shape or e.got.dtype.kind not in "fcV":
        return
    bad = ~np.isfinite(wide(e.got)) & np.isfinite(wide(e.want))
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    is_nan = bool(np.isnan(wide(e.got)[index]))
    if e.rule is None:
        yield Guess("nan", fact("nan_appears", is_nan=is_nan, index=index), e.got)
        return
    argument = float(np.real(e.rule.tensor[index])) if e.rule.tensor.shape == e.want.shape else None
    op = e.rule.application.op.name
    yield Guess("nan", fact("nan_of_rule", is_nan=is_nan, op=op, index=index, argument=argument), e.got)
