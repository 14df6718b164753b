"""How an op might be called in somebody's library: Python's operators, and torch's and NumPy's names and arguments.

A `CallForm` is one way of calling. `exact` ones cannot be misunderstood: an operator, or the op's own name with nothing
but tensors; where such a form exists it is the one to be tested, whatever it returns. Others (`sum(0)` might set
another parameter than the dimension) are believed only when they return what the op should. A further name of an op, or
of a parameter, is an entry in `dialects`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.engines.tensor_class.dialects import AMBIGUOUS, KEYWORDS, SYNONYMS
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC

#: An op's arguments in the signature's order, as the library takes them.
Arguments = Sequence[Any]
Shape = tuple[int, ...]

_INFIX = ("add", "sub", "mul", "div", "pow", "floor_divide", "remainder")
OPERATORS: dict[str, Callable[..., Any]] = {name: ARITHMETIC[name] for name in _INFIX} | {
    "matmul": operator.matmul,
    "neg": operator.neg,
    "positive": operator.pos,
    "abs": operator.abs,
    "getitem": operator.getitem,
}


class MissingName(Exception):
    """The library has nothing of that name."""


class Library(NamedTuple):
    """Where names are looked up: methods on the tensor, functions in modules (or in a class), and, after all these,
    functions of `others` that ask the tensor what they come to: NumPy's, of a class with `__array_ufunc__`."""

    modules: tuple[Any, ...]
    methods: bool = True
    fallback_modules: tuple[Any, ...] = ()

    def function(self, name: str) -> Callable[..., Any]:
        """The first public function of this name. Raises Absent."""
        function: Callable[..., Any] = getattr(self.home(name), name)
        return function

    def home(self, name: str) -> Any:
        """What has the first public function of this name. Raises Absent, also where a module's own way of finding it
        raises."""
        for module in (*self.modules, *self.fallback_modules):
            try:
                found = getattr(module, name, None)
            except USER_EXCEPTIONS:
                continue
            if callable(found):
                return module
        raise MissingName(name)


@dataclass(frozen=True, slots=True)
class FormArgument:
    """One argument of a call: the op's own at `index`, or sizes (those of the result's shape if `dims` is None).

    The items of one that is `spread` are written out, `2, 3` in place of `(2, 3)`; a single number that is `packed` is
    given as a tuple, `(2,)`.
    """

    index: int | None = None
    dims: Shape | None = None
    spread: bool = False
    packed: bool = False

    def value(self, args: Arguments, shape: Shape) -> Any:
        """What is given, for an op's arguments and its result's shape."""
        if self.index is not None:
            value = args[self.index]
            return (value,) if self.packed and isinstance(value, int) else value
        return shape if self.dims is None else self.dims


@dataclass(frozen=True, slots=True)
class CallForm:
    """One way of calling an op. A method's first argument is the tensor that has it; a method that takes nothing else
    may be a property. Masks and indices are arrays, or `lifted`: tensors of the library's. An op that is an object is
    made of what is in `making`, and used in a `manner`: see `op_objects`."""

    kind: Literal["operator", "method", "function", "object"]
    name: str
    positional: tuple[FormArgument, ...]
    keywords: tuple[tuple[str, FormArgument], ...] = ()
    exact: bool = False
    lifted: bool = False
    constructor_arguments: tuple[FormArgument, ...] = ()
    usage: str = ""

    @property
    def label(self) -> str:
        """For messages: `operator add`, `.sum(dim=…)`, `softmax(…)`."""
        if self.kind == "operator":
            return f"operator {self.name}"
        if self.kind == "object":
            return {"apply": f"{self.name}.apply(…)", "make": f"{self.name}(…)"}.get(self.usage, f"{self.name}()(…)")
        given = [*(["…"] if len(self.positional) > 1 else []), *(f"{word}=…" for word, _ in self.keywords)]
        return f"{'.' if self.kind == 'method' else ''}{self.name}({', '.join(given)})"

    def given(self, args: Arguments, shape: Shape) -> tuple[list[Any], dict[str, Any]]:
        """The positional arguments and the keywords of the call."""
        positional: list[Any] = []
        for argument in self.positional:
            value = argument.value(args, shape)
            positional += value if argument.spread else [value]
        return positional, {word: argument.value(args, shape) for word, argument in self.keywords}

    def passes_none(self, args: Arguments, shape: Shape) -> bool:
        """Whether None is among what is given: a bound that is not there means something else to others."""
        positional, keywords = self.given(args, shape)
        return any(value is None for value in (*positional, *keywords.values()))

    def _call_object(self, made_by: Callable[..., Any], tensors: list[Any], settings: list[Any]) -> Any:
        """What a class that is an op makes of tensors."""
        if self.usage in ("make", "apply"):
            use: Callable[..., Any] | None = made_by if self.usage == "make" else getattr(made_by, "apply", None)
            if use is None:
                raise MissingName("apply")
            return use(*tensors, *settings)
        made = made_by(*settings)
        if self.usage == "forward":
            return made.forward(*tensors)
        return made(tensors) if self.usage == "list" else made(*tensors)

    def call(self, library: Library, args: Arguments, shape: Shape) -> Any:
        """Call it. `shape` is the result's, for ops in `SHAPED`. Raises Absent where the library has no such thing, and
        whatever the library raises."""
        given, keywords = self.given(args, shape)
        if self.kind == "operator":
            return OPERATORS[self.name](*given)
        if self.kind == "function":
            return library.function(self.name)(*given, **keywords)
        if self.kind == "object":
            return self._call_object(
                library.function(self.name), given, [one.value(args, shape) for one in self.constructor_arguments]
            )
        try:
            method = getattr(given[0], self.name)
        except AttributeError:
            raise MissingName(self.name) from None
        kind = type(given[0])
        if kind is not np.ndarray and getattr(kind, self.name, None) is getattr(np.ndarray, self.name, MissingName):
            raise MissingName(self.name)  # a tensor that is an array, too: it is NumPy's method, and no op of the class
        if callable(method):
            return method(*given[1:], **keywords)
        if len(given) > 1 or keywords:
            raise MissingName("a property takes no arguments")
        return method


def forms(op: Op, bound: Arguments, ndim: int, library: Library) -> Iterator[CallForm]:
    """Every way of calling the op with these arguments (their values matter only where they are no tensors); `ndim` is
    the first argument's number of dimensions."""
    settings = settings_of(op, bound)
    if op.name in OPERATORS and not settings:
        operands = tuple(FormArgument(index) for index in range(_operands(op)))
        yield CallForm("operator", op.name, operands, exact=not _is_mixed(op, bound))
    if op.name == "where":
        yield from _where_forms()
        return
    if op.name in SHAPED:
        yield from _shape_forms(op, bound, ndim, library)
        return
    for name in names_of(op):
        exact = not settings and op.sequence is None and name == op.name.rpartition(".")[2]
        yield from _named_forms(op, name, settings, library, exact and op.name not in AMBIGUOUS)


def _where_forms() -> Iterator[CallForm]:
    """torch's method is that of what is chosen where the condition holds: `x.where(condition, y)`."""
    condition, chosen, other = map(FormArgument, range(3))
    yield CallForm("method", "where", (chosen, condition, other))
    yield CallForm("function", "where", (condition, chosen, other))


def names_of(op: Op) -> tuple[str, ...]:
    """What it may be called, its own name first. Nobody's `var` is `masked.var`."""
    if op.name.startswith("masked."):
        return (op.name.replace(".", "_"),)
    short = op.name.rpartition(".")[2]
    counterpart = op.torch.rpartition(".")[2]
    return tuple(dict.fromkeys((short, counterpart, *SYNONYMS.get(op.name, ()))))


def _is_mixed(op: Op, bound: Arguments) -> bool:
    """An index of arrays and other things, of which NumPy and torch make different shapes."""
    if op.name != "getitem" or not isinstance(bound[1], tuple):
        return False
    return len(bound[1]) > 1 and any(hasattr(item, "dtype") or isinstance(item, list) for item in bound[1])


def settings_of(op: Op, bound: Arguments) -> list[int]:
    """Positions of the arguments that are neither tensors' places nor left at their defaults."""
    operands = _operands(op)
    return [
        i
        for i, (parameter, value) in enumerate(zip(op.parameters, bound, strict=True))
        if i >= operands and not (value is parameter.default or _same(value, parameter.default))
    ]


def _operands(op: Op) -> int:
    """How many leading parameters are tensors' places, an index among them."""
    if op.name == "getitem":
        return 2
    required = next((i for i, p in enumerate(op.parameters) if not p.required), len(op.parameters))
    if op.variadic is not None:
        return len(op.parameters) if op.sequence is not None else max(1, required)
    return max(1, min(required, len(op.rules)) if op.rules else required)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (bool, int, float, str, tuple, type(None))) and a == b


def _named_forms(op: Op, name: str, settings: list[int], library: Library, exact: bool) -> Iterator[CallForm]:
    """Method, function, property."""
    listed = next((i for i, parameter in enumerate(op.parameters) if parameter.name == op.variadic), None)
    arguments = [
        FormArgument(i, spread=i == listed) for i in range(len(op.parameters))
    ]  # einsum("ij,jk", a, b) is spread
    for count, words in _ways_of_giving(op, settings):
        positional = tuple(arguments[:count])
        keywords = tuple((word, replace(arguments[i], packed=word == "axes")) for word, i in words)
        if library.methods and op.sequence is None:
            yield CallForm("method", name, positional, keywords, exact)
        yield CallForm("function", name, positional, keywords, exact)


def _ways_of_giving(op: Op, settings: list[int]) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """How many arguments are given by position, and which settings by which keyword: torch's or NumPy's."""
    operands = _operands(op)
    if not settings:
        yield operands, []
        return
    torch = [parameter.name for parameter in op.parameters]
    numpy = [KEYWORDS.get(word, word) for word in torch]
    axes = ["axes" if word == "axis" else word for word in numpy]
    for words in (torch, numpy, *([axes] if axes != numpy else [])):
        yield operands, [(words[i], i) for i in settings]
    yield max(settings) + 1, []
    yield len(op.parameters), []
    if len(settings) == 2:  # sum(0, keepdims=True)
        first, second = settings
        for words in (torch, numpy):
            yield first + 1, [(words[second], second)]


# Ops whose arguments are sizes and dimensions -------------------------------------------------------

#: Ops that are asked for by the shape that comes out, and what they may be called.
_SIZED = dict.fromkeys(("reshape", "view", "flatten", "ravel", "unflatten"), ("reshape", "view"))
_SIZED |= dict.fromkeys(("expand", "broadcast_to"), ("expand", "broadcast_to"))
#: Ops that swap two dimensions, the last two where none are given.
_SWAPPING = ("transpose", "swapaxes", "T", "mT", "t")
#: All ops that are not asked for as they are written.
SHAPED = frozenset((*_SIZED, *_SWAPPING, "permute", "getitem"))

_TENSOR = FormArgument(0)


def _shape_forms(op: Op, bound: Arguments, ndim: int, library: Library) -> Iterator[CallForm]:
    """Forms of the ops in `SHAPED`; none for an index, which is the operator's alone."""
    if op.name in _SIZED:
        yield from _sizes(_SIZED[op.name], library)
    elif op.name == "permute":
        yield from _order(tuple(int(dim) % max(ndim, 1) for dim in bound[1]), library)
    elif op.name in _SWAPPING and (len(bound) > 1 or ndim > 1):
        if len(bound) == 1:  # as it is written, if that is there: a rule may differ between a class's own words
            yield CallForm("method", op.name, (_TENSOR,))
        yield from _swap(tuple(bound[1:3]) or (-2, -1), ndim, library)


def _sizes(names: Sequence[str], library: Library, dims: Shape | None = None) -> Iterator[CallForm]:
    """`reshape(2, 3)` and `reshape((2, 3))`, methods and functions; of the result's shape unless `dims` are given."""
    for name in names:
        if library.methods:
            yield CallForm("method", name, (_TENSOR, FormArgument(dims=dims, spread=True)))
            yield CallForm("method", name, (_TENSOR, FormArgument(dims=dims)))
        yield CallForm("function", name, (_TENSOR, FormArgument(dims=dims)))


def _order(dims: Shape, library: Library) -> Iterator[CallForm]:
    """Dimensions in another order."""
    yield from _sizes(("permute", "transpose"), library, dims)
    if library.methods:
        yield CallForm("method", "transpose", (_TENSOR,), (("axes", FormArgument(dims=dims)),))
    if dims == (1, 0):
        for name in ("T", "t", "transpose"):
            yield CallForm("method", name, (_TENSOR,))
        yield CallForm("function", "transpose", (_TENSOR,))


def _swap(pair: Sequence[Any], ndim: int, library: Library) -> Iterator[CallForm]:
    """Two dimensions in each other's place."""
    first, second = (int(dim) % max(ndim, 1) for dim in pair)
    order = list(range(ndim))
    if ndim:
        order[first], order[second] = order[second], order[first]
    yield from _sizes(("transpose", "swapaxes"), library, (first, second))
    yield CallForm("function", "swapaxes", (_TENSOR, FormArgument(dims=(first, second), spread=True)))
    yield from _order(tuple(order), library)
