"""The modes an op looks at: whether to record a graph, the dtype of numbers that name none, NumPy's warnings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import numpy as np

_FLOAT64: np.dtype = np.dtype(np.float64)
_recording: ContextVar[bool] = ContextVar("gradcheck_recording", default=True)
_default_dtype: ContextVar[np.dtype] = ContextVar("gradcheck_default_dtype", default=_FLOAT64)

_quiet: ContextVar[bool] = ContextVar("gradcheck_quiet", default=False)
_NOTHING = nullcontext()

is_recording = _recording.get
default_dtype = _default_dtype.get


@contextmanager
def no_grad() -> Iterator[None]:
    """Compute without recording a graph. Also usable as a decorator."""
    token = _recording.set(False)
    try:
        yield
    finally:
        _recording.reset(token)


@contextmanager
def using_default_dtype(dtype: np.dtype) -> Iterator[None]:
    """Make `dtype` what `ones(3)`, or an integer divided by an integer, comes out as."""
    token = _default_dtype.set(dtype)
    try:
        yield
    finally:
        _default_dtype.reset(token)


def quiet() -> AbstractContextManager[None]:
    """Without NumPy's warnings: infinities and NaN are values here, as in torch. Free where it is quiet already, for
    turning them off costs as much as a small op."""
    return _NOTHING if _quiet.get() else _without_warnings()


@contextmanager
def _without_warnings() -> Iterator[None]:
    token = _quiet.set(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _quiet.reset(token)
