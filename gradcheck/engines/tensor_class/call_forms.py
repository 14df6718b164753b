"""The forms of a call to an op in a user's library.

They are Python's operators, and torch's and NumPy's names and arguments. A `CallForm` is one form of call. `exact`
ones are unambiguous: an operator, or the op's own name with nothing but tensors; such a form is tested whatever it
returns. Others (`sum(0)` might set another parameter than the dimension) are used only if they return the op's
result. Another name of an op, or of a parameter, is an entry in `dialects`.
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

#: An op's arguments in the signature's order.
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
    """The places where names are looked up.

    They are methods of the tensor, functions in modules (or in a class), and then functions of `fallback_modules`
    that call the tensor: NumPy's, for a class with `__array_ufunc__`."""

    modules: tuple[Any, ...]
    methods: bool = True
    fallback_modules: tuple[Any, ...] = ()

    def function(self, name: str) -> Callable[..., Any]:
        """Return the first public function of this name. Raises MissingName."""
        function: Callable[..., Any] = getattr(self.home(name), name)
        return function

    def home(self, name: str) -> Any:
        """Return the module of this function. Raises MissingName.

        A module whose own lookup raises is skipped."""
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
    """An argument: the op's own at `index`, or sizes, by default the result's.

    The items of one that is `spread` are separate arguments, `2, 3` in place of `(2, 3)`; a single number or array that
    is `packed` is given as a tuple, `(2,)`."""

    index: int | None = None
    dims: Shape | None = None
    spread: bool = False
    packed: bool = False

    def value(self, args: Arguments, shape: Shape) -> Any:
        """Return the value, given an op's arguments and its result's shape."""
        if self.index is not None:
            value = args[self.index]
            return (value,) if self.packed and (isinstance(value, int) or hasattr(value, "dtype")) else value
        return shape if self.dims is None else self.dims


@dataclass(frozen=True, slots=True)
class CallForm:
    """One form of a call to an op.

    A method's first argument is its tensor; a method without other arguments may be a property. Masks and indices are
    arrays, or, if `lifted`, tensors of the library. For `constructor_arguments` and `usage` see `op_objects`."""

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
        """`operator add`, `.sum(dim=…)` or `softmax(…)`, for messages."""
        if self.kind == "operator":
            return f"operator {self.name}"
        if self.kind == "object":
            return {"apply": f"{self.name}.apply(…)", "make": f"{self.name}(…)"}.get(self.usage, f"{self.name}()(…)")
        given = [*(["…"] if len(self.positional) > 1 else []), *(f"{word}=…" for word, _ in self.keywords)]
        return f"{'.' if self.kind == 'method' else ''}{self.name}({', '.join(given)})"

    def given(self, args: Arguments, shape: Shape) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional arguments and the keywords of the call."""
        positional: list[Any] = []
        for argument in self.positional:
            value = argument.value(args, shape)
            positional += value if argument.spread else [value]
        return positional, {word: argument.value(args, shape) for word, argument in self.keywords}

    def passes_none(self, args: Arguments, shape: Shape) -> bool:
        """Return whether an argument is None, which has different meanings."""
        positional, keywords = self.given(args, shape)
        return any(value is None for value in (*positional, *keywords.values()))

    def _call_object(self, made_by: Callable[..., Any], tensors: list[Any], settings: list[Any]) -> Any:
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
        """Call the op; `shape` is the result's. Raises MissingName."""
        given, keywords = self.given(args, shape)
        if self.kind == "operator":
            return OPERATORS[self.name](*given)
        if self.kind == "function":
            return library.function(self.name)(*given, **keywords)
        if self.kind == "object":
            settings = [one.value(args, shape) for one in self.constructor_arguments]
            return self._call_object(library.function(self.name), given, settings)
        try:
            method = getattr(given[0], self.name)
        except AttributeError:
            raise MissingName(self.name) from None
        kind = type(given[0])
        if kind is not np.ndarray and getattr(kind, self.name, None) is getattr(np.ndarray, self.name, MissingName):
            raise MissingName(self.name)  # a tensor that is an array, too, has NumPy's method, not the class's
        if callable(method):
            return method(*given[1:], **keywords)
        if len(given) > 1 or keywords:
            raise MissingName("a property takes no arguments")
        return method


def forms(op: Op, bound: Arguments, ndim: int, library: Library) -> Iterator[CallForm]:
    """Yield every form of the op with these arguments.

    Values matter only for arguments that are no tensors; `ndim` is the first argument's number of dimensions."""
    settings = settings_of(op, bound)
    if op.name in OPERATORS and not settings:
        operands = tuple(FormArgument(index) for index in range(_operands(op)))
        yield CallForm("operator", op.name, operands, exact=not _is_mixed(op, bound))
        if op.name == "matmul":  # as of NumPy's matrices
            yield CallForm("operator", "mul", operands)
        if op.name == "getitem" and hasattr(bound[1], "dtype"):
            yield CallForm("operator", op.name, (_TENSOR, FormArgument(1, packed=True)))
    if op.name == "where":  # torch's method is `x.where(condition, y)`
        condition, chosen, other = map(FormArgument, range(3))
        yield CallForm("method", "where", (chosen, condition, other))
        yield CallForm("function", "where", (condition, chosen, other))
        return
    if op.name in SHAPED:
        yield from _shape_forms(op, bound, ndim, library)
        return
    for name in (*names_of(op), f"{op.name}_op"):
        exact = not settings and op.sequence is None and name == op.name.rpartition(".")[2]
        yield from _named_forms(op, name, settings, library, exact and op.name not in AMBIGUOUS)
    if op.name in REDUCTIONS and not settings and ndim and library.methods:
        yield CallForm("method", op.name, (_TENSOR, FormArgument(dims=tuple(range(ndim)), spread=True)))
    places = single_dims(op, bound)
    for name in names_of(op) if places else ():
        for form in _named_forms(op, name, settings, library, False):
            yield _packed(form, places)


def single_dims(op: Op, bound: Arguments) -> list[int]:
    """Return the places of dimensions that are given as a number."""
    pairs = enumerate(zip(op.parameters, bound, strict=True))
    return [place for place, (one, value) in pairs if one.name in ("dim", "dims") and isinstance(value, int)]


def _packed(form: CallForm, places: Sequence[int]) -> CallForm:
    """Return a form with these arguments as tuples."""

    def packed(argument: FormArgument) -> FormArgument:
        return replace(argument, packed=argument.packed or argument.index in places)

    keywords = tuple((word, packed(argument)) for word, argument in form.keywords)
    return replace(form, positional=tuple(map(packed, form.positional)), keywords=keywords)


def names_of(op: Op) -> tuple[str, ...]:
    """Return the op's names, its own first."""
    if op.name.startswith("masked."):
        return (op.name.replace(".", "_"),)
    short = op.name.rpartition(".")[2]
    counterpart = op.torch.rpartition(".")[2]
    return tuple(dict.fromkeys((short, counterpart, *SYNONYMS.get(op.name, ()))))


def _is_mixed(op: Op, bound: Arguments) -> bool:
    """Return whether an index has arrays among other items.

    NumPy and torch return different shapes for it."""
    if op.name != "getitem" or not isinstance(bound[1], tuple):
        return False
    return len(bound[1]) > 1 and any(hasattr(item, "dtype") or isinstance(item, list) for item in bound[1])


def settings_of(op: Op, bound: Arguments) -> list[int]:
    """Return the places of arguments that are neither operands nor defaults."""
    operands = _operands(op)
    return [
        i
        for i, (parameter, value) in enumerate(zip(op.parameters, bound, strict=True))
        if i >= operands and not (value is parameter.default or _same(value, parameter.default))
    ]


def _operands(op: Op) -> int:
    """Return the number of leading operands, an index included."""
    if op.name == "getitem":
        return 2
    required = next((i for i, p in enumerate(op.parameters) if not p.required), len(op.parameters))
    if op.variadic is not None:
        return len(op.parameters) if op.sequence is not None else max(1, required)
    return max(1, min(required, len(op.rules)) if op.rules else required)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (bool, int, float, str, tuple, type(None))) and a == b


def _named_forms(op: Op, name: str, settings: list[int], library: Library, exact: bool) -> Iterator[CallForm]:
    listed = next((i for i, parameter in enumerate(op.parameters) if parameter.name == op.variadic), None)
    arguments = [FormArgument(i, spread=i == listed) for i in range(len(op.parameters))]  # as in einsum("ij,jk", a, b)
    for count, words in _argument_splits(op, settings):
        positional = tuple(arguments[:count])
        keywords = tuple((word, replace(arguments[i], packed=word == "axes")) for word, i in words)
        if library.methods and op.sequence is None:
            yield CallForm("method", name, positional, keywords, exact)
        yield CallForm("function", name, positional, keywords, exact)


def _argument_splits(op: Op, settings: list[int]) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Yield the number of positional arguments, and the keywords of others."""
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

#: Ops that are called with the result's shape, and their names.
_SIZED = dict.fromkeys(("reshape", "view", "flatten", "ravel", "unflatten"), ("reshape", "view"))
_SIZED |= dict.fromkeys(("expand", "broadcast_to"), ("expand", "broadcast_to"))
#: Ops that swap two dimensions, by default the last two.
_SWAPPING = ("transpose", "swapaxes", "T", "mT", "t")
#: All ops whose arguments are rewritten.
SHAPED = frozenset((*_SIZED, *_SWAPPING, "permute", "getitem"))

#: Ops over all dimensions, which some libraries want named: `sum(0, 1)`.
REDUCTIONS = frozenset({"sum", "mean", "prod", "amax", "amin"})

_TENSOR = FormArgument(0)


def _shape_forms(op: Op, bound: Arguments, ndim: int, library: Library) -> Iterator[CallForm]:
    """Yield forms of ops in `SHAPED`; `getitem` is only an operator."""
    if op.name in _SIZED:
        yield from _sizes(_SIZED[op.name], library)
    elif op.name == "permute":
        yield from _order(tuple(int(dim) % max(ndim, 1) for dim in bound[1]), library)
    elif op.name in _SWAPPING and (len(bound) > 1 or ndim > 1):
        if len(bound) == 1:  # under its own name, if the class has it: synonyms may have different rules
            yield CallForm("method", op.name, (_TENSOR,))
        yield from _swap(tuple(bound[1:3]) or (-2, -1), ndim, library)


def _sizes(names: Sequence[str], library: Library, dims: Shape | None = None) -> Iterator[CallForm]:
    """Yield `reshape(2, 3)` and `reshape((2, 3))`, methods and functions."""
    for name in names:
        if library.methods:
            yield CallForm("method", name, (_TENSOR, FormArgument(dims=dims, spread=True)))
            yield CallForm("method", name, (_TENSOR, FormArgument(dims=dims)))
        yield CallForm("function", name, (_TENSOR, FormArgument(dims=dims)))


def _order(dims: Shape, library: Library) -> Iterator[CallForm]:
    yield from _sizes(("permute", "transpose"), library, dims)
    if library.methods:
        yield CallForm("method", "transpose", (_TENSOR,), (("axes", FormArgument(dims=dims)),))
    if dims == (1, 0):
        for name in ("T", "t", "transpose"):
            yield CallForm("method", name, (_TENSOR,))
        yield CallForm("function", "transpose", (_TENSOR,))


def _swap(pair: Sequence[Any], ndim: int, library: Library) -> Iterator[CallForm]:
    first, second = (int(dim) % max(ndim, 1) for dim in pair)
    order = list(range(ndim))
    if ndim:
        order[first], order[second] = order[second], order[first]
    yield from _sizes(("transpose", "swapaxes"), library, (first, second))
    yield CallForm("function", "swapaxes", (_TENSOR, FormArgument(dims=(first, second), spread=True)))
    yield from _order(tuple(order), library)
