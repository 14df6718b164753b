"""Modes of ops: recording, the default dtype, NumPy's warnings."""

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
_ALREADY_QUIET = nullcontext()


def _silent_state() -> tuple[ContextVar[Any], Any]:
    """Return NumPy's context variable for warnings, and its silent value.

    If this NumPy has none, an unused variable of ours.
    """
    with np.errstate(all="ignore"):
        context = copy_context()
    found = ((variable, context[variable]) for variable in context if variable.name == "numpy.ufunc.extobj")
    return next(found, (_quiet, False))


#: A variable and the value that silences NumPy; setting it is 20 times as fast as `np.errstate`.
SILENCE = _silent_state()


def _with_errstate(function: Callable[..., Any], *args: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*args)


def _silently() -> Callable[..., Any]:
    """Return a context's `run` in which NumPy is silent.

    It takes a third of the time of setting the variable. Only one thread at a time can be in a context, which a
    Python without the GIL would find out too late.
    """
    if SILENCE[0] is _quiet or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return _with_errstate
    context = copy_context()
    context.run(SILENCE[0].set, SILENCE[1])
    return context.run


#: `silently(function, *args)` calls it without NumPy's warnings, at the least cost. Raises RuntimeError while another
#: thread does so.
silently = _silently()

is_recording = _recording.get
default_dtype = _default_dtype.get
#: Returns whether NumPy's warnings are off.
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
        """Return a new token, so that a recursive function can be decorated."""
        return no_grad()


class using_default_dtype:  # noqa: N801 - used as a function is
    """Set the dtype of `ones(3)` and of `1 / 2` for a block."""

    __slots__ = ("_dtype", "_token")

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype

    def __enter__(self) -> None:
        self._token = _default_dtype.set(self._dtype)

    def __exit__(self, *error: object) -> None:
        _default_dtype.reset(self._token)


def quiet() -> AbstractContextManager[None]:
    """Silence NumPy: infinities and NaN are values. Free if silent already."""
    return _ALREADY_QUIET if is_quiet() else _Silenced()


class _Silenced:
    """The context of `quiet`; one made of a generator would be slow."""

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
