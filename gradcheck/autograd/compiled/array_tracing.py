"""Trace forwards and rules on arrays, as the quickest calls of NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradcheck.autograd.compiled.compiled_node import DTYPES
from gradcheck.autograd.compiled.tracing import (
    Line,
    Trace,
    Traced,
    Untraceable,
    constant,
    depends_on_values,
    flat,
    plain_value,
)
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import Op
from gradcheck.autograd.promotion import conversion, kinds_of

#: Functions that treat a Python number differently from a 0-d array.
_POWERS = (np.power, np.float_power)
#: The array methods that can be recorded; each may return a view.
_METHODS = frozenset(("astype", "copy", "diagonal", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "transpose"))
#: Operands of smaller results are repeated beforehand, which is faster than to broadcast.
SMALL = 1024


class TracedArray(Traced, NDArrayOperatorsMixin):
    """A traced array: NumPy's operators, functions and methods are recorded."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **settings: Any) -> TracedArray:
        return self.trace.ufunc(ufunc, method, args, settings)  # type: ignore[no-any-return]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        record = self.trace.numpy_functions.get(function)
        if record is None:
            raise Untraceable
        return record(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        return partial(self.trace.method, self, name)

    def __getitem__(self, index: Any) -> TracedArray:
        if any(isinstance(item, (Traced, np.ndarray, list)) for item in (index if type(index) is tuple else (index,))):
            raise Untraceable
        return self.trace.record(self.data[index], f"{self.name}[{self.trace.name_of(index)}]", (self,))  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> TracedArray:
        return self.trace.power(self, other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> TracedArray:
        return self.trace.power(other, self)  # type: ignore[no-any-return]

    @property
    def real(self) -> TracedArray:
        return self

    @property
    def T(self) -> TracedArray:  # noqa: N802
        return self.trace.record(self.data.T, f"{self.name}.T", (self,))  # type: ignore[no-any-return]

    @property
    def mT(self) -> TracedArray:  # noqa: N802
        return self.trace.record(self.data.mT, f"{self.name}.mT", (self,))  # type: ignore[no-any-return]


class ArrayTrace(Trace):
    """A trace of the NumPy calls of ops on arrays."""

    def __init__(self, numpy_functions: Mapping[Any, Callable[..., Any]], specialized: Mapping[Any, Any]) -> None:
        """Set the tables `RECORDED` and `SPECIALIZED` of `fast_forwards`."""
        super().__init__()
        self.numpy_functions, self._specialized_forwards = numpy_functions, specialized
        self._made: dict[str, TracedArray] = {}

    def code(self, kept: Any, given: str = "") -> list[str]:
        self._made.clear()
        return super().code(kept, given)

    def apply(self, op: Op, args: tuple[Any, ...]) -> TracedArray:
        """Record an op. Raises Untraceable if its result depends on values."""
        values = [plain_value(arg) for arg in args]
        if any(p.name == "generator" for p in op.parameters) or depends_on_values(op, values):
            raise Untraceable
        found = conversion(op, *kinds_of(values, op.sequence), default_dtype())
        if found.half or any(isinstance(args[place], Traced) for place in found.places):
            return self.record(op.compute(values), f"{self.name_of(op.compute)}([{self.write_all(args)}])", args)
        operands = list(args)
        for place in found.places:
            operands[place] = values[place] = constant(args[place], found.dtype)
        for record in (self._specialized, self._through_forward):
            made = record(op, operands, values)
            if made is not None:
                return made
        return self.call(op.forward, operands, fresh=False)

    def _specialized(self, op: Op, operands: list[Any], values: list[Any]) -> TracedArray | None:
        """Record the function that is specialized for a forward, if any."""
        specialize = self._specialized_forwards.get(op.forward)
        function = None if specialize is None else specialize(*values)
        traced = [arg for arg in flat(operands) if isinstance(arg, Traced)]
        return None if function is None else self.call(function, traced)

    def _through_forward(self, op: Op, operands: list[Any], values: list[Any]) -> TracedArray | None:
        """Record the calls of a forward; return None if it cannot be traced."""
        lines, made = len(self.lines), dict(self._made)
        try:
            result = op.forward(*operands)
        except Exception:  # the forward is then recorded as one call
            result = None
        if type(result) is TracedArray:
            return result
        if type(result) is np.ndarray:  # which depends on shapes alone
            return TracedArray(result, self.name_of(result), self)
        del self.lines[lines:]
        self._made = made
        return None

    def record(
        self, data: Any, code: str, args: Sequence[Any], *, fresh: bool = False, out: bool = False
    ) -> TracedArray:
        """Record a call and its result; do not repeat an earlier call."""
        is_scalar = type(data) is not np.ndarray  # which NumPy makes of results without dimensions
        if is_scalar:
            data, code = np.asarray(data), f"asarray({code})"
        if type(data) is not np.ndarray or data.dtype not in DTYPES:
            raise Untraceable
        if code not in self._made:
            made = TracedArray(data, self.new_name(), self)
            sources = frozenset(item.name for item in flat(args) if isinstance(item, Traced))
            kind = (data.shape, data.dtype.char)
            self.lines.append(Line(made.name, code, sources, kind, fresh and not is_scalar, out and not is_scalar))
            self._made[code] = made
        return self._made[code]

    def call(self, function: Callable[..., Any], args: Sequence[Any], *, fresh: bool = True) -> TracedArray:
        """Record a call of a function; `fresh` if it returns no view."""
        data = function(*map(plain_value, args))
        return self.record(data, f"{self.name_of(function)}({self.write_all(args)})", args, fresh=fresh)

    def method(self, array: TracedArray, name: str, *args: Any, **settings: Any) -> TracedArray:
        """Record a call of an array's method."""
        data = getattr(array.data, name)(*args, **settings)
        if name in ("astype", "reshape") and (data.shape, data.dtype) == (array.shape, array.dtype):
            return array
        written = [*map(self.write, args), *(f"{key}={self.write(value)}" for key, value in settings.items())]
        return self.record(data, f"{array.name}.{name}({', '.join(written)})", (array,), fresh=name == "copy")

    def power(self, base: Any, exponent: Any) -> TracedArray:
        """Record `**`, which is no ufunc for some exponents."""
        data = operator.pow(plain_value(base), plain_value(exponent))
        return self.record(data, f"{self.write(base)} ** {self.write(exponent)}", (base, exponent), fresh=True)

    def ufunc(self, ufunc: np.ufunc, method: str, args: tuple[Any, ...], settings: dict[str, Any]) -> TracedArray:
        """Record a call of a ufunc, of its `reduce` or of its `accumulate`."""
        if ufunc.nout != 1 or method not in ("__call__", "reduce", "accumulate"):
            raise Untraceable
        data = getattr(ufunc, method)(*map(plain_value, args), **settings)
        if method == "__call__":
            if settings:
                raise Untraceable
            is_by_one = ufunc in (np.multiply, np.true_divide) and type(args[1]) in (int, float) and args[1] == 1
            if is_by_one and data.dtype == args[0].dtype:
                return args[0]  # type: ignore[no-any-return]
            if ufunc is np.matmul and all(arg.ndim == 2 and arg.dtype.kind == "f" for arg in args):
                return self.call(_matrix_product, args)
            operands = self._operands(ufunc, args, data)
            return self.record(data, f"{self.name_of(ufunc)}({', '.join(operands)})", args, fresh=True, out=True)
        quick = _quick_reduction(ufunc, args[0].data, **settings) if method == "reduce" else None
        if quick is not None:
            return self.call(quick, args)
        axis, keepdims = self.write(settings.pop("axis", 0)), settings.pop("keepdims", False)
        rest = "".join(f", {key}={self.write(value)}" for key, value in settings.items())
        tail = f", None, None, {keepdims}{rest}" if method == "reduce" else rest
        function = getattr(ufunc, method)
        return self.record(data, f"{self.name_of(function)}({args[0].name}, {axis}{tail})", args, fresh=True)

    def _operands(self, ufunc: np.ufunc, args: Sequence[Any], data: Any) -> list[str]:
        """Return the code of a ufunc's operands.

        Numbers become arrays, which are quicker, if the result is the same. Operands that a small result broadcasts
        are repeated beforehand.
        """
        if ufunc.signature is not None:  # it works on vectors or matrices
            return [self.write(arg) for arg in args]
        floats = {arg.dtype for arg in args if isinstance(arg, Traced) and arg.dtype.kind == "f"}
        dtype = floats.pop() if len(floats) == 1 and ufunc not in _POWERS else None
        found = []
        for arg in args:
            is_number = dtype is not None and type(arg) in (int, float)
            found.append(self.write(constant(arg, dtype) if is_number else arg))
            places = _repeats(arg.shape, data.shape) if isinstance(arg, Traced) else None
            if places is not None:
                found[-1] += f"{'' if arg.ndim == 1 else '.ravel()'}[{self.name_of(places)}]"
        return found


@lru_cache(maxsize=1024)
def _repeats(shape: tuple[int, ...], target: tuple[int, ...]) -> np.ndarray | None:
    """Return the index that broadcasts a flat array to a small shape; or None."""
    if shape == target or not shape or not 0 < prod(target) <= SMALL:
        return None
    return np.broadcast_to(np.arange(prod(shape)).reshape(shape), target).copy()


def _quick_reduction(
    ufunc: np.ufunc, x: np.ndarray, axis: Any = 0, keepdims: bool = False, **rest: Any
) -> Callable[..., Any] | None:
    """Return NumPy's quickest call for a small reduction, or None."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    if x.dtype != np.float64 or not 0 < x.size <= SMALL or len(axes) != 1 or axes[0] is None or rest:
        return None
    along, shape = x.shape[axes[0]], np.empty(x.shape).sum(axis, keepdims=keepdims).shape
    if ufunc is np.add and along < 8:  # from eight numbers on, NumPy does not add one after the other
        rows = (*x.shape[: axes[0]], 1, *x.shape[axes[0] + 1 :])
        places = np.broadcast_to(np.arange(prod(rows)).reshape(rows), x.shape).ravel()
        return lambda x: np.bincount(places, x.ravel()).reshape(shape)
    if ufunc in (np.maximum, np.minimum) and axes[0] == x.ndim - 1:
        starts = np.arange(0, x.size, along)
        return lambda x: ufunc.reduceat(x.ravel(), starts).reshape(shape)
    return None


def _matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.dot(b) if a.flags.forc and b.flags.forc else np.matmul(a, b)  # type: ignore[no-any-return]
