"""Arrays that write the expressions of what NumPy computes from them.

Expressions are in torch's ops, and a guess: they have to be compared with the code's values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.errors import Unsupported

_RENAMED = {
    "absolute": "abs",
    "add.reduce": "sum",
    "clip": "clamp",
    "concatenate": "cat",
    "divide": "div",
    "dot": "matmul",
    "expand_dims": "unsqueeze",
    "greater": "gt",
    "less": "lt",
    "max": "amax",
    "maximum.reduce": "amax",
    "min": "amin",
    "minimum.reduce": "amin",
    "multiply": "mul",
    "negative": "neg",
    "power": "pow",
    "ravel": "flatten",
    "subtract": "sub",
    "swapaxes": "transpose",
}
_KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "ddof": "correction", "axis1": "dim0", "axis2": "dim1"}
#: Keywords that change no number of a result.
_IGNORED = ("out", "dtype", "casting", "order", "copy", "subok", "where", "initial")
_METHODS = (
    *("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "reshape", "transpose", "swapaxes", "squeeze"),
    *("ravel", "flatten", "dot", "clip", "copy", "astype", "repeat", "__getitem__"),
)


class TracedArray(np.ndarray):
    """An array whose computations are noted in its trace."""

    noted_in: Any  # a `ForwardTracer`, which imports this

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, out: Any = (), **settings: Any) -> Any:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        into = {"out": tuple(map(_plain, out))} if out else {}
        found = getattr(ufunc, method)(*map(_plain, args), **{k: _plain(v) for k, v in settings.items()}, **into)
        return self._noted(out[0] if out else found, name, args, settings)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = function(*_plain(args), **{k: _plain(v) for k, v in kwargs.items()})
        return self._noted(found, function.__name__, args, kwargs)

    @property
    def T(self) -> Any:  # noqa: N802
        return self._noted(_plain(self).T, "T", (self,), {})

    def _noted(self, found: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(found, (np.ndarray, np.generic)):
            found = traced(found, self.noted_in)
            self.noted_in.note_call(found, name, args, kwargs)
        return found


def _method(name: str) -> Any:
    def call(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        found = getattr(np.ndarray, name)(_plain(self), *map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
        return self._noted(found, name, (self, *args), kwargs)

    return call


for _name in _METHODS:
    setattr(TracedArray, _name, _method(_name))


def traced(array: Any, trace: Any) -> TracedArray:
    """Return the array as one whose computations are noted."""
    found = array if isinstance(array, TracedArray) else np.asarray(array).view(TracedArray)
    found.noted_in = trace
    return found


def torch_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, list[Any], dict[str, Any]]:
    """Return a call of NumPy as one of torch. Raises Unsupported."""
    given = {_KEYWORDS.get(k, k): v for k, v in kwargs.items() if k not in _IGNORED and v is not np._NoValue}
    listed = list(args)
    if name in ("var", "std"):
        given.setdefault("correction", 0)
    if name == "transpose":
        axes = listed[1:] if len(listed) > 2 else (listed[1] if len(listed) > 1 else given.pop("axes", None))
        return "permute", [listed[0], axes or tuple(range(listed[0].ndim))[::-1]], {}
    if name in ("astype", "copy"):
        return "clone", listed[:1], {}
    if name.endswith(".reduce"):
        given.setdefault("dim", 0)
    if name == "where" and len(listed) != 3:
        raise Unsupported("places where a condition holds")
    return _RENAMED.get(name, name), listed, given


def _plain(value: Any) -> Any:
    if isinstance(value, TracedArray):
        return value.view(np.ndarray)
    return type(value)(map(_plain, value)) if type(value) in (tuple, list) else value
