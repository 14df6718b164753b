"""What ops and gradient rules do, written down as a straight line of calls.

A rule is written in ops and operators alone and branches on no value, so what it does for arrays of some shapes and
dtypes it does for all of these. Applied to `Traced` values it leaves a list of calls, each with its arguments in their
final form; run again as Python, they give what the rule gives. Whoever looks at a value on the way cannot be traced.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from gradcheck.autograd.node import Node
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.autograd.prepared import function_of
from gradcheck.autograd.settled import constant, kinds_of, settled

#: The dtypes that a plan knows, by their characters: two floats, booleans and integers.
DTYPES = frozenset("fd?lq")
#: Written out where they stand; all other values are named.
_WRITTEN = (int, bool, type(None))


#: Functions that treat a number otherwise than an array that holds it.
_POWERS = (np.power, np.float_power)


class Untraceable(Exception):
    """Something looked at a value."""


class Traced(Operators):
    """An array that stands for others of its shape and dtype, by its name in the code that is being written."""

    __slots__ = ("data", "name", "requires_grad", "trace")

    def __init__(self, data: np.ndarray, name: str, trace: Trace, requires_grad: bool = False) -> None:
        self.data, self.name, self.trace, self.requires_grad = data, name, trace, requires_grad

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Traced:
        traced = next(arg for arg in flat(args) if isinstance(arg, Traced))
        return traced.trace.apply(op, args)

    def _looked_at(self, *args: Any) -> NoReturn:
        raise Untraceable

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __len__ = __iter__ = __array__ = _looked_at


class Trace:
    """The calls so far, and the values of the names in them."""

    kind = Traced

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}

    def named(self, value: Any) -> str:
        """How a value that is no traced one is written."""
        if type(value) in _WRITTEN:
            return repr(value)
        name = f"c{len(self.names)}"
        if type(value) is np.ndarray:
            value = value.copy()
            value.flags.writeable = False
        self.names[name] = value
        return name

    def written(self, arg: Any) -> str:
        """How an argument is written."""
        if isinstance(arg, Traced):
            return arg.name
        if isinstance(arg, (list, tuple)) and any(isinstance(item, Traced) for item in flat(arg)):
            items = "".join(f"{self.written(item)}, " for item in arg)
            return f"[{items}]" if type(arg) is list else f"({items})"
        return self.named(arg)

    def apply(self, op: Op, args: tuple[Any, ...]) -> Traced:
        """Write down one op. Raises Untraceable where what it gives depends on more than shapes."""
        values = [_plain(arg) for arg in args]
        if any(p.name == "generator" for p in op.parameters) or _asks_for_values(op, values):
            raise Untraceable
        data = op.compute(values)
        if type(data) is not np.ndarray or data.dtype.char not in DTYPES:
            raise Untraceable
        wanted = bool(op.rules) and any(_wanted(arg) for arg in flat(args))
        return self.add(data, self.call(op, args, values), wanted)

    def add(self, data: Any, code: str, wanted: bool = False, *, is_scalar: bool = False) -> Traced:
        """Write down what came to this; NumPy makes scalars of 0-d results."""
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = asarray({code})" if is_scalar else f"{name} = {code}")
        return self.kind(np.asarray(data), name, self, wanted)

    def call(self, op: Op, args: Sequence[Any], values: list[Any]) -> str:
        raise NotImplementedError


def _operator(symbol: str, function: Callable[[Any, Any], Any], *, reflected: bool = False) -> Callable[..., Any]:
    def operator(self: TracedArray, other: Any) -> TracedArray:
        pair = (other, self) if reflected else (self, other)
        return self.trace.operate(symbol, function, pair)  # type: ignore[attr-defined,no-any-return]

    return operator


class TracedArray(Traced):
    """One that is an array when the code runs: its operators are NumPy's."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __array_ufunc__(  # type: ignore[override]
        self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any
    ) -> Traced:
        if method != "__call__" or kwargs or ufunc.nout != 1:
            raise Untraceable
        return self.trace.called(ufunc, args)  # type: ignore[attr-defined,no-any-return]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _OF_SHAPES:
            return function(*map(_plain, args))
        if function not in _FUNCTIONS or kwargs:
            raise Untraceable
        return self.trace.called(function, args)  # type: ignore[attr-defined]


#: NumPy's functions that look at shapes alone.
_OF_SHAPES = frozenset((np.size, np.ndim, np.shape))
#: NumPy's functions that forwards may call, besides ufuncs.
_FUNCTIONS = frozenset((np.where, np.zeros_like, np.ones_like))

_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@"}
_INTEGERS = {"floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
for _name, _symbol in (_ARITHMETIC | _INTEGERS).items():
    _compute = getattr(operators, f"__{_name}__")
    setattr(TracedArray, f"__{_name}__", _operator(_symbol, _compute))
    setattr(TracedArray, f"__r{_name}__", _operator(_symbol, _compute, reflected=True))
for _name, _symbol in _COMPARISONS.items():
    setattr(TracedArray, f"__{_name}__", _operator(_symbol, getattr(operators, f"__{_name}__")))


class ArrayTrace(Trace):
    """Ops on arrays: their forwards themselves."""

    kind = TracedArray

    def operate(self, symbol: str, function: Callable[[Any, Any], Any], pair: tuple[Any, Any]) -> Traced:
        """Write down one of NumPy's operators."""
        data = self._data(function, pair)
        sides = self._operands(pair, symbol != "**")
        return self.add(data, f"{sides[0]} {symbol} {sides[1]}", is_scalar=type(data) is not np.ndarray)

    def called(self, function: Any, args: tuple[Any, ...]) -> Traced:
        """Write down a call of one of NumPy's functions."""
        data = self._data(function, args)
        code = f"{self.named(function)}({', '.join(self._operands(args, function not in _POWERS))})"
        return self.add(data, code, is_scalar=type(data) is not np.ndarray)

    def _data(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        data = function(*map(_plain, args))
        if data is NotImplemented or data.dtype.char not in DTYPES:
            raise Untraceable
        return data

    def _operands(self, args: tuple[Any, ...], quick: bool) -> list[str]:
        """How operands are written: numbers as arrays, which are quicker, where this makes no difference."""
        floats = {arg.dtype for arg in args if isinstance(arg, Traced) and arg.dtype.kind == "f"}
        if not quick or len(floats) != 1:
            return [self.written(arg) for arg in args]
        (dtype,) = floats
        return [self.named(constant(arg, dtype)) if type(arg) in (int, float) else self.written(arg) for arg in args]

    def call(self, op: Op, args: Sequence[Any], values: list[Any]) -> str:
        form = settled(op, kinds_of(values, op.sequence))
        if form is None:
            return f"{self.named(op.compute)}([{', '.join(map(self.written, args))}])"
        operands = list(args)
        for position in form.numbers:
            operands[position] = form.convert(values)[position]
        function, operands = _function(op, form.convert(values), operands)
        if function is op.forward and op.elementwise:
            name = self._written_out(op, operands)
            if name:
                return name
        made = f"{self.named(function)}({', '.join(map(self.written, operands))})"
        return f"asarray({made})" if type(function(*map(_plain, operands))) is not np.ndarray else made

    def _written_out(self, op: Op, operands: list[Any]) -> str:
        """What a forward does instead of its name, if it calls ufuncs alone; "" if it does not."""
        start = len(self.lines)
        try:
            made = op.forward(*operands)
            return made.name if type(made) is TracedArray else ""
        except Exception:  # it is called by its name, then
            del self.lines[start:]
            return ""


class TensorTrace(Trace):
    """Ops on tensors: each by a plan of its own, if it has one."""

    def __init__(self, plan: Callable[[Op, tuple[Any, ...]], Callable[..., Any] | None], kind: type[Node]) -> None:
        super().__init__()
        self._plan, self._general = plan, kind.__apply_op__  # type: ignore[attr-defined]

    def call(self, op: Op, args: Sequence[Any], values: list[Any]) -> str:
        function = self._plan(op, tuple(args))
        if function is None:
            return f"{self.named(self._general)}({self.named(op)}, [{', '.join(map(self.written, args))}])"
        return f"{self.named(function)}({', '.join(arg.name for arg in flat(args) if isinstance(arg, Traced))})"


def _function(op: Op, values: Sequence[Any], operands: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """What computes an op on settled values, and which of its arguments it takes."""
    traced = operands if op.elementwise else [arg for arg in flat(operands) if isinstance(arg, Traced)]
    if op.elementwise or len(traced) == sum(isinstance(value, np.ndarray) for value in flat(values)):
        function = function_of(op, values)
        if function is not None:
            return function, traced
    if op.ufunc is not None and _are_defaults(op, values, op.ufunc.nin):
        return op.ufunc, operands[: op.ufunc.nin]
    return op.forward, operands


def _are_defaults(op: Op, values: Sequence[Any], count: int) -> bool:
    pairs = zip(values[count:], op.parameters[count:], strict=True)
    return all(type(value) is type(parameter.default) and value == parameter.default for value, parameter in pairs)


def _asks_for_values(op: Op, values: list[Any]) -> bool:
    """Whether the shape of the result depends on values: a mask picks as many as are true."""
    if op.name == "one_hot":
        return True
    if op.name not in ("getitem", "index_adjoint", "index_put"):
        return False
    return any(isinstance(value, np.ndarray) and value.dtype.char in "?B" for value in flat(values[1:2]))


def flat(args: Sequence[Any]) -> list[Any]:
    """Arguments, and those in lists of them, in their order."""
    found: list[Any] = []
    for arg in args:
        found += flat(arg) if isinstance(arg, (list, tuple)) else [arg]
    return found


def nodes_in(args: Sequence[Any]) -> list[Any]:
    """The nodes among arguments and in lists of them, in their order."""
    return [arg for arg in flat(args) if hasattr(arg, "requires_grad")]


def _plain(arg: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(_plain, arg))
    return arg.data if isinstance(arg, Traced) else arg


def _wanted(arg: Any) -> bool:
    return isinstance(arg, Traced) and arg.requires_grad
