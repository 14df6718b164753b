"""The modes an op looks at: whether to record a graph, the dtype of numbers that name none, NumPy's warnings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator, nullcontext
from contextvars import ContextVar, Token, copy_context
from typing import Any

import numpy as np

_FLOAT64: np.dtype = np.dtype(np.float64)
_recording: ContextVar[bool] = ContextVar("gradcheck_recording", default=True)
_default_dtype: ContextVar[np.dtype] = ContextVar("gradcheck_default_dtype", default=_FLOAT64)

_quiet: ContextVar[bool] = ContextVar("gradcheck_quiet", default=False)
_NOTHING = nullcontext()


def _state_of_silence() -> tuple[ContextVar[Any], Any]:
    """NumPy's context variable for what becomes of warnings, and its value for nothing. Where it keeps none, one of
    ours, which changes nothing."""
    with np.errstate(all="ignore"):
        context = copy_context()
    found = ((variable, context[variable]) for variable in context if variable.name == "numpy.ufunc.extobj")
    return next(found, (_quiet, False))


#: To be set for a moment, in a twentieth of the time that `np.errstate` takes: that variable, and that value.
SILENCE = _state_of_silence()


def _with_errstate(function: Callable[..., Any], *args: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*args)


def _silently() -> Callable[..., Any]:
    """In a context of its own where that variable is set, which takes a third of the time of setting it. One thread
    alone can be in a context, which free threads would find out too late."""
    if SILENCE[0] is _quiet or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return _with_errstate
    context = copy_context()
    context.run(SILENCE[0].set, SILENCE[1])
    return context.run


#: `silently(function, *args)`: what comes of NumPy's functions without its warnings, at the least cost. Raises
#: RuntimeError where another thread is doing the same.
silently = _silently()

is_recording = _recording.get
default_dtype = _default_dtype.get
#: Whether NumPy's warnings are off already.
is_quiet = _quiet.get


class no_grad(ContextDecorator):  # noqa: N801 - used as a function is
    """Compute without recording a graph. Also usable as a decorator."""

    __slots__ = ("_token",)
    _token: Token[bool]

    def __enter__(self) -> None:
        self._token = _recording.set(False)

    def __exit__(self, *error: object) -> None:
        _recording.reset(self._token)

    def _recreate_cm(self) -> no_grad:
        """What decorates a function that calls itself has a token for each call."""
        return no_grad()


class using_default_dtype:  # noqa: N801 - used as a function is
    """Make `dtype` what `ones(3)`, or an integer divided by an integer, comes out as."""

    __slots__ = ("_dtype", "_token")

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype

    def __enter__(self) -> None:
        self._token = _default_dtype.set(self._dtype)

    def __exit__(self, *error: object) -> None:
        _default_dtype.reset(self._token)


def quiet() -> AbstractContextManager[None]:
    """Without NumPy's warnings: infinities and NaN are values here, as in torch. Free where it is quiet already, for
    turning them off costs as much as a small op."""
    return _NOTHING if is_quiet() else _WithoutWarnings()


class _WithoutWarnings:
    """A class, since a generator's context costs several small ops."""

    __slots__ = ("_silence", "_state", "_token")

    def __enter__(self) -> None:
        self._token = _quiet.set(True)
        self._state = None if SILENCE[0] is not _quiet else np.errstate(all="ignore")
        if self._state is None:
            self._silence = SILENCE[0].set(SILENCE[1])
        else:
            self._state.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._state is None:
            SILENCE[0].reset(self._silence)
        else:
            self._state.__exit__(None, None, None)
        _quiet.reset(self._token)
