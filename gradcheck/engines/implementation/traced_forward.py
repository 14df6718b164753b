"""The forward of user code as an expression, traced through torch's ops.

The expression is a guess, which has to be compared with the code's values: in-place changes of views are not traced,
and sizes are numbers in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from gradcheck.autograd.op import lookup
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse

if TYPE_CHECKING:
    from gradcheck.engines.implementation.numpy_pair import NumpyPair

#: The longest expression.
_LONGEST = 1500
#: The largest constant array that is written.
_LARGEST = 24
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "true_divide": "/", "matmul": "@", "mm": "@", "pow": "**"}
#: Methods that change no number.
_SAME = (
    *("clone", "contiguous", "detach", "view_as", "double", "type_as", "to", "requires_grad_", "alias", "data"),
    "from_numpy",
)
#: Methods that take sizes or axes one by one.
_OPEN = {"view": "reshape", "reshape": "reshape", "permute": "permute", "expand": "expand", "repeat": "repeat"}
_PROPERTIES = ("T", "mT")
_TRACED = (torch.Tensor, np.ndarray)
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


class ForwardTracer(TorchFunctionMode):
    """Writes the expression of each tensor that is computed in its block."""

    def __init__(self, names: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self._texts = {id(tensor): name for name, tensor in names.items()}
        self._kept: list[Any] = list(names.values())  # so that no `id` is given away
        plain = {name: tensor.detach().cpu() for name, tensor in names.items() if tensor.dtype is not torch.bfloat16}
        self._arrays = {name: tensor.resolve_conj().numpy() for name, tensor in plain.items()}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        name = _name_of(func)
        if name == "numpy":
            found, name = traced(found, self), "clone"
        self._note_text(found, name, args, kwargs or {})
        return found

    def note_call(self, found: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the result of a call of NumPy."""
        try:
            self._note_text(found, *torch_call(name, args, kwargs))
        except Unsupported:
            self._forget(found)

    def _note_text(self, found: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        try:
            self._note(found, _text_of(name, [self._argument(one) for one in args], self._keywords(kwargs)))
        except Unsupported:
            self._forget(found)

    def expression(self, found: Any) -> Expr | None:
        """Return the expression of a result, or of several; None if unknown."""
        try:
            text = self._argument(tuple(found) if isinstance(found, list) else found)
            return parse(text) if len(text) <= _LONGEST else None
        except GradcheckError:
            return None

    def _note(self, found: Any, text: str) -> None:
        if isinstance(found, _TRACED):
            self._kept.append(found)
            self._texts[id(found)] = text
        elif isinstance(found, (tuple, list)) and any(isinstance(one, _TRACED) for one in found):
            for place, one in enumerate(found):
                self._note(one, f"{text}[{place}]")

    def _forget(self, found: Any) -> None:
        for one in found if isinstance(found, (tuple, list)) else [found]:
            if isinstance(one, _TRACED):
                self._kept.append(one)
                self._texts[id(one)] = ""

    def _keywords(self, kwargs: Mapping[str, Any]) -> str:
        given = {k: v for k, v in kwargs.items() if v is not None and not k.startswith("_") and k != "inplace"}
        return "".join(f", {key}={self._argument(value)}" for key, value in given.items())

    def _argument(self, value: Any) -> str:
        if id(value) in self._texts:
            if self._texts[id(value)]:
                return self._texts[id(value)]
            raise Unsupported("computed in a way that is not traced")
        if isinstance(value, (*_TRACED, np.generic)):
            return self._untraced(value)
        if isinstance(value, (tuple, list)):
            inside = [self._argument(one) for one in value]
            if not isinstance(value, tuple) or all(isinstance(one, int) for one in value):
                return f"[{', '.join(inside)}]"
            return f"({', '.join(inside)}{',' * (len(inside) == 1)})"
        if isinstance(value, slice):
            return ":".join("" if one is None else repr(one) for one in (value.start, value.stop))
        if value is Ellipsis:
            return "..."
        if isinstance(value, (int, float, str, bool)) or value is None:
            return repr(value)
        raise Unsupported("an argument that is not written")

    def _untraced(self, value: Any) -> str:
        """Return the name of an array of the same numbers, or the numbers."""
        if isinstance(value, torch.Tensor):
            if value.requires_grad or value.numel() != 1:
                raise Unsupported("a tensor that is not traced")
            return repr(value.item())
        array = np.asarray(value)
        if array.size == 1 and not array.ndim:
            return repr(array.item())
        for name, known in self._arrays.items():
            if known.shape == array.shape and np.array_equal(known, array):
                return name
        if array.size > _LARGEST or array.dtype.kind not in "biuf":
            raise Unsupported("an array that is not traced")
        return f"tensor({array.tolist()})"


def _name_of(func: Any) -> str:
    name = getattr(func, "__name__", "")
    return getattr(getattr(func, "__self__", None), "__name__", "") if name == "__get__" else name


def _text_of(name: str, given: list[str], keywords: str) -> str:
    """Return a call as an expression. Raises Unsupported."""
    if name in _PROPERTIES:
        return f"{given[0]}.{name}"
    name = name.strip("_") if name.startswith("__") else name.removesuffix("_")
    if name in _SAME:
        return given[0]
    if name == "getitem":
        return f"{given[0]}[{given[1].strip('()[]')}]"
    if name.startswith("r") and name[1:] in (*_OPERATORS, "truediv"):
        name, given = name[1:], [given[1], given[0]]
    name = name.replace("truediv", "div")
    if name in _OPERATORS and len(given) == 2 and not keywords:
        return f"({given[0]} {_OPERATORS[name]} {given[1]})"
    if name == "t":
        return f"{given[0]}.T"
    if name in _OPEN and not given[1].startswith("["):
        name, given = _OPEN[name], [given[0], f"[{', '.join(given[1:])}]"]
    name = _OPEN.get(name, name)
    if lookup(name) is None:
        raise Unsupported("an op that is not known")
    while len(given) > 1 and given[-1] == "None":
        given = given[:-1]
    return f"{name}({', '.join(given)}{keywords})"


def traced_expression(call: Callable[[], Any], names: Mapping[str, torch.Tensor]) -> Expr | None:
    """Return the expression of what `call` computes; None if unknown."""
    tracer = ForwardTracer(names)
    with tracer, torch.no_grad():
        found = call()
    return tracer.expression(found)


def traced_pair_expression(pair: Any, call: Callable[[NumpyPair], Any], names: Mapping[str, Any]) -> Expr | None:
    """Return the expression of a pair's forward; None if unknown.

    `call` calls a `NumpyPair`."""
    traced_pair, calls = copy(pair), _TracedCalls(pair, ForwardTracer(names))
    traced_pair.calls = calls
    with torch.no_grad():
        call(traced_pair)
    return calls.expression


class _TracedCalls:
    """Calls of a pair's forward with arrays that are traced."""

    def __init__(self, pair: NumpyPair, tracer: ForwardTracer) -> None:
        self._pair, self._tracer = pair, tracer
        self.expression: Expr | None = None

    def call(self, forward: Callable[..., Any], arguments: list[Any]) -> Any:
        if self._pair.calls.takes_tensors:
            given = [torch.from_numpy(one) if isinstance(one, np.ndarray) else one for one in arguments]
        else:
            given = [traced(one, self._tracer) if isinstance(one, np.ndarray) else one for one in arguments]
        with self._tracer:
            found = forward(*given)
        results, _ = self._pair.split_results(found)
        self.expression = self._tracer.expression(results[0] if len(results) == 1 else tuple(results))
        return found


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
