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

from gradcheck.autograd.compiled.constants import constant
from gradcheck.autograd.compiled.specialized import are_defaults, asks_for_values, function_of
from gradcheck.autograd.compiled.specialized.pieces import selection
from gradcheck.autograd.compiled.straight_line_code import Line, spreading, written
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.node import DTYPES, Node, flat
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.operators import Operators
from gradcheck.autograd.promotion import conversion, kinds_of

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
    #: The values are arrays: one that is computed twice need not be.
    is_plain = False

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.names: dict[str, Any] = {}
        self._known: dict[int, tuple[str, Any]] = {}
        self._made: dict[str, Traced] = {}
        self._count = 0

    def named(self, value: Any) -> str:
        """How a value that is no traced one is written."""
        if type(value) in _WRITTEN:
            return repr(value)
        if id(value) not in self._known:
            name = f"c{len(self.names)}"
            self._known[id(value)] = (name, value)  # held, so that no other has its id
            if type(value) is np.ndarray:
                value = value.copy()
                value.flags.writeable = False
            self.names[name] = value
            return name
        return self._known[id(value)][0]

    def code(self, kept: Sequence[Any], given: str = "") -> list[str]:
        """The calls since this was last asked, as code that leaves what is `kept`; the last may write over `given`."""
        lines, self.lines = self.lines, []
        self._made.clear()
        return written(lines, frozenset(item.name for item in flat(kept) if isinstance(item, Traced)), given)

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
        if any(p.name == "generator" for p in op.parameters) or asks_for_values(op, values):
            raise Untraceable
        data = op.compute(values)
        if type(data) is not np.ndarray or data.dtype not in DTYPES:
            raise Untraceable
        wanted = bool(op.rules) and any(isinstance(arg, Traced) and arg.requires_grad for arg in flat(args))
        called = self.call(op, args, values)
        return called if isinstance(called, Traced) else self.add(data, called, args, wanted)

    def add(self, data: Any, code: str, args: Sequence[Any], wanted: bool = False, call: Sequence[Any] = ()) -> Traced:
        """Write down what came to this, a call of a ufunc as it and its written operands, too. What is computed twice
        is written once; NumPy makes scalars of 0-d results."""
        is_scalar = type(data) is not np.ndarray
        code = f"asarray({code})" if is_scalar else code
        made = self._made.get(code)
        if made is None:
            self._count += 1
            made = self.kind(np.asarray(data), f"t{self._count}", self, wanted)
            sources = frozenset(item.name for item in flat(args) if isinstance(item, Traced))
            operands = () if is_scalar or len(call) < 2 else (self.named(call[0]), *call[1:])
            kind = (made.shape, made.dtype.char)
            self.lines.append(Line(made.name, code, sources, kind, call[0] if call else None, operands))
            if self.is_plain:
                self._made[code] = made
        return made

    def call(self, op: Op, args: Sequence[Any], values: list[Any]) -> str | Traced:
        """How the op is called, or what it came to if it was written down."""
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
_UFUNCS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide}
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
    is_plain = True

    def operate(self, symbol: str, function: Callable[[Any, Any], Any], pair: tuple[Any, Any]) -> Traced:
        """Write down one of NumPy's operators."""
        if symbol == "@":
            return self.apply(TABLE["matmul"], pair)
        data = self._data(function, pair)
        for one, other in (pair, pair[::-1])[: 1 + (symbol == "*")]:
            if symbol in "*/" and type(other) in (int, float) and other == 1 and data.dtype == one.dtype:
                return one  # type: ignore[no-any-return]
        sides = self._operands(pair, symbol != "**", data)
        call = (_UFUNCS[symbol], *sides) if symbol in _UFUNCS else ()
        return self.add(data, f"{sides[0]} {symbol} {sides[1]}", pair, call=call)

    def called(self, function: Any, args: tuple[Any, ...]) -> Traced:
        """Write down a call of one of NumPy's functions."""
        data = self._data(function, args)
        operands = self._operands(args, function not in _POWERS, data)
        call = (function, *operands) if isinstance(function, np.ufunc) else (function,)
        if function is np.where:
            function = selection(*map(_plain, args)) or function
        return self.add(data, f"{self.named(function)}({', '.join(operands)})", args, call=call)

    def _data(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        data = function(*map(_plain, args))
        if data is NotImplemented or data.dtype not in DTYPES:
            raise Untraceable
        return data

    def _operands(self, args: tuple[Any, ...], quick: bool, data: Any) -> list[str]:
        """How operands are written: numbers as arrays, which are quicker, where this makes no difference; what is
        repeated in a small result spread out before, since NumPy takes long to see how."""
        floats = {arg.dtype for arg in args if isinstance(arg, Traced) and arg.dtype.kind == "f"}
        dtype = floats.pop() if quick and len(floats) == 1 else None
        found = []
        for arg in args:
            if dtype and type(arg) in (int, float):
                arg = constant(arg, dtype)
            found.append(self.written(arg))
            places = spreading(arg.shape, data.shape) if isinstance(arg, Traced) else None
            if places is not None:
                found[-1] += f"{'' if arg.ndim == 1 else '.ravel()'}[{self.named(places)}]"
        return found

    def call(self, op: Op, args: Sequence[Any], values: list[Any]) -> str | Traced:
        found = conversion(op, *kinds_of(values, op.sequence), default_dtype())
        if found.half or any(isinstance(args[place], Traced) for place in found.places):
            return f"{self.named(op.compute)}([{', '.join(map(self.written, args))}])"
        operands, values = list(args), list(values)
        for place in found.places:
            operands[place] = values[place] = constant(args[place], found.dtype)
        function, operands = _function(op, values, operands)
        if function is op.forward and op.elementwise:
            made = self._written_out(op, operands)
            if made is not None:
                return made
        code = f"{self.named(function)}({', '.join(map(self.written, operands))})"
        return f"asarray({code})" if type(function(*map(_plain, operands))) is not np.ndarray else code

    def _written_out(self, op: Op, operands: list[Any]) -> Traced | None:
        """What a forward does instead of its name, if it calls ufuncs alone; None if it does not."""
        start, known = len(self.lines), dict(self._made)
        try:
            made = op.forward(*operands)
        except Exception:  # it is called by its name, then
            made = None
        if type(made) is TracedArray:
            return made
        del self.lines[start:]
        self._made = known
        return None


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
    if op.ufunc is not None and are_defaults(op, values, op.ufunc.nin):
        return op.ufunc, operands[: op.ufunc.nin]
    return op.forward, operands


def _plain(arg: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(_plain, arg))
    return arg.data if isinstance(arg, Traced) else arg
