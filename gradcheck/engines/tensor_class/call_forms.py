"""How an op might be called in somebody's library: Python's operators, and torch's and NumPy's names and arguments.

A `Form` is one way of calling. `exact` ones cannot be misunderstood: an operator, or the op's own name with nothing but
tensors; where such a form exists it is the one to be tested, whatever it returns. Others (`sum(0)` might set another
parameter than the dimension) are believed only when they return what the op should.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gradcheck.autograd.op import Op

#: Values, in place of the op's parameters, as the library takes them.
Arguments = Sequence[Any]
Shape = tuple[int, ...]
Call = Callable[[Arguments, Shape], Any]


@dataclass(frozen=True, slots=True)
class Form:
    """One way of calling an op. `call` takes the arguments and, for ops in `SHAPED`, the result's shape; it raises
    `Absent` where the library has no such thing."""

    label: str
    call: Call
    exact: bool = False


class Absent(Exception):
    """The library has nothing of that name."""


class Library(NamedTuple):
    """Where names are looked up: methods on the tensor, functions in modules."""

    modules: tuple[Any, ...]
    methods: bool = True

    def function(self, name: str) -> Callable[..., Any]:
        """The first public function of this name."""
        for module in self.modules:
            found = getattr(module, name, None)
            if callable(found):
                return found  # type: ignore[no-any-return]
        raise Absent(name)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "neg": operator.neg, "matmul": operator.matmul, "remainder": operator.mod, "floor_divide": operator.floordiv,
    "abs": operator.abs, "positive": operator.pos, "getitem": operator.getitem,
}  # fmt: skip

#: Other names, torch's and NumPy's first.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "add": ("plus",), "sub": ("subtract", "minus"), "mul": ("multiply", "times"), "div": ("divide", "true_divide"),
    "pow": ("power",), "neg": ("negative", "negate"), "matmul": ("mm", "dot", "bmm", "mv"), "mm": ("dot",),
    "mv": ("dot",), "bmm": ("matmul",), "abs": ("absolute",), "asin": ("arcsin",), "acos": ("arccos",),
    "atan": ("arctan",), "asinh": ("arcsinh",), "acosh": ("arccosh",), "atanh": ("arctanh",), "atan2": ("arctan2",),
    "amax": ("max",), "amin": ("min",), "cat": ("concatenate", "concat"), "clamp": ("clip",), "softmax": ("soft_max",),
    "log_softmax": ("logsoftmax",), "softplus": ("soft_plus",), "sigmoid": ("expit", "logistic"), "silu": ("swish",),
    "conj": ("conjugate",), "linalg.norm": ("norm",), "linalg.vector_norm": ("norm",), "repeat": ("tile",),
    "movedim": ("moveaxis",), "linalg.solve": ("solve",), "linalg.inv": ("inverse",), "ravel": ("flatten",),
    "logaddexp": ("log_add_exp",), "logsumexp": ("log_sum_exp",), "index_select": ("take",),
    "take_along_dim": ("take_along_axis",), "logsigmoid": ("log_sigmoid",), "unsqueeze": ("expand_dims",),
}  # fmt: skip

#: Names that mean different things to different libraries: another value there is another convention, not a mistake.
AMBIGUOUS = frozenset({
    "std", "var", "repeat", "tile", "gelu", "linalg.norm", "linalg.vector_norm", "norm", "round", "remainder", "fmod",
    "cross_entropy", "nll_loss", "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss",
    "l1_loss", "huber_loss", "smooth_l1_loss", "hinge_embedding_loss", "margin_ranking_loss", "softplus", "batch_norm",
    "layer_norm", "leaky_relu", "elu", "flatten", "take", "dot", "normalize", "linear", "conv1d", "conv2d", "pad",
    "getitem",
})  # fmt: skip

_NUMPY_WORDS = {"dim": "axis", "keepdim": "keepdims", "dims": "axis"}


def names_of(op: Op) -> tuple[str, ...]:
    """What it may be called, its own name first."""
    short = op.name.rpartition(".")[2]
    counterpart = op.torch.rpartition(".")[2]
    return tuple(dict.fromkeys((short, counterpart, *_SYNONYMS.get(op.name, ()))))


def forms(op: Op, bound: Arguments, ndim: int, library: Library) -> Iterator[Form]:
    """Every way of calling the op with these arguments (their values matter only where they are no tensors); `ndim` is
    the first argument's number of dimensions."""
    settings = _settings(op, bound)
    infix = _OPERATORS.get(op.name)
    if infix is not None and not settings:
        yield Form(f"operator {op.name}", _infix(infix, _operands(op)), exact=not _is_mixed(op, bound))
    if op.name in SHAPED:
        yield from SHAPED[op.name](bound, ndim, library)
        return
    for name in names_of(op):
        exact = not settings and op.sequence is None and name == op.name.rpartition(".")[2]
        yield from _named(op, name, settings, library, exact and op.name not in AMBIGUOUS)


def _is_mixed(op: Op, bound: Arguments) -> bool:
    """An index of arrays and other things, of which NumPy and torch make different shapes."""
    if op.name != "getitem" or not isinstance(bound[1], tuple):
        return False
    return len(bound[1]) > 1 and any(hasattr(item, "dtype") or isinstance(item, list) for item in bound[1])


def _infix(function: Callable[..., Any], count: int) -> Call:
    return lambda args, shape: function(*args[:count])


def _settings(op: Op, bound: Arguments) -> list[int]:
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


def _named(op: Op, name: str, settings: list[int], library: Library, exact: bool) -> Iterator[Form]:
    """Method, function, property; positional, torch's keywords, NumPy's."""
    count = _operands(op)
    last = max(settings, default=count - 1) + 1
    names = [parameter.name for parameter in op.parameters]
    keywords = [{names[i]: i for i in settings}, {_NUMPY_WORDS.get(names[i], names[i]): i for i in settings}]
    if not settings:
        styles: list[tuple[int, dict[str, int]]] = [(count, {})]
    else:
        styles = [(count, words) for words in keywords] + [(last, {}), (len(op.parameters), {})]
        if len(settings) == 2:  # sum(0, keepdims=True)
            first, second = settings
            styles += [(first + 1, {word: second}) for word in (names[second], _NUMPY_WORDS.get(names[second], ""))]
    for positional, words in styles:
        yield from _places(op, name, positional, words, library, exact)


def _places(op: Op, name: str, positional: int, words: dict[str, int], library: Library, exact: bool) -> Iterator[Form]:
    listed = [p.name for p in op.parameters].index(op.variadic) if op.variadic else None

    def split(args: Arguments) -> tuple[list[Any], dict[str, Any]]:
        given = list(args[:positional])
        if listed is not None and listed < positional:  # einsum("ij,jk", a, b)
            given[listed : listed + 1] = args[listed]
        return given, {word: args[i] for word, i in words.items() if word}

    def method(args: Arguments, shape: Shape) -> Any:
        given, kwargs = split(args)
        found = _attribute(given[0], name)
        return found(*given[1:], **kwargs) if callable(found) else _only(found, given, kwargs)

    def function(args: Arguments, shape: Shape) -> Any:
        given, kwargs = split(args)
        return library.function(name)(*given, **kwargs)

    told = ", ".join([*(["…"] if positional > 1 else []), *(f"{word}=…" for word in words if word)])
    if library.methods and op.sequence is None:
        yield Form(f".{name}({told})", method, exact)
    yield Form(f"{name}({told})", function, exact)


def _attribute(tensor: Any, name: str) -> Any:
    try:
        return getattr(tensor, name)
    except AttributeError:
        raise Absent(name) from None


def _only(found: Any, given: list[Any], kwargs: dict[str, Any]) -> Any:
    """A property, where nothing else was to be said."""
    if len(given) > 1 or kwargs:
        raise Absent("a property takes no arguments")
    return found


# Ops whose arguments are sizes and dimensions -------------------------------------------------------

Shaped = Callable[[Arguments, int, Library], Iterator[Form]]


def _spread(names: Sequence[str], library: Library, dims: Shape | None = None) -> Iterator[Form]:
    """`reshape(2, 3)` and `reshape((2, 3))`, methods and functions; of the result's shape unless `dims` are given."""
    for name in names:
        yield from _spread_one(name, library, dims)


def _spread_one(name: str, library: Library, dims: Shape | None) -> Iterator[Form]:
    def value(shape: Shape) -> Shape:
        return shape if dims is None else dims

    if library.methods:
        yield Form(f".{name}(*…)", lambda args, shape: _attribute(args[0], name)(*value(shape)))
        yield Form(f".{name}((…))", lambda args, shape: _attribute(args[0], name)(value(shape)))
    yield Form(f"{name}(x, (…))", lambda args, shape: library.function(name)(args[0], value(shape)))


def _reshape(bound: Arguments, ndim: int, library: Library) -> Iterator[Form]:
    return _spread(("reshape", "view"), library)


def _expand(bound: Arguments, ndim: int, library: Library) -> Iterator[Form]:
    return _spread(("expand", "broadcast_to"), library)


def _axes(dims: Shape, library: Library) -> Iterator[Form]:
    """Dimensions in another order."""
    yield from _spread(("permute", "transpose"), library, dims)
    if library.methods:
        yield Form(".transpose(axes=…)", lambda args, shape: _attribute(args[0], "transpose")(axes=dims))
    if dims == (1, 0):
        yield Form(".T", lambda args, shape: _transposed(args[0], "T"))
        yield Form(".t()", lambda args, shape: _transposed(args[0], "t"))
        yield Form(".transpose()", lambda args, shape: _transposed(args[0], "transpose"))
        yield Form("transpose(x)", lambda args, shape: library.function("transpose")(args[0]))


def _transposed(tensor: Any, name: str) -> Any:
    found = _attribute(tensor, name)
    return found() if callable(found) else found


def _swap(bound: Arguments, ndim: int, library: Library) -> Iterator[Form]:
    first, second = (int(dim) % max(ndim, 1) for dim in bound[1:3])
    order = list(range(ndim))
    if ndim:
        order[first], order[second] = order[second], order[first]
    yield from _spread(("transpose", "swapaxes"), library, (first, second))
    yield Form("swapaxes(x, i, j)", lambda args, shape: library.function("swapaxes")(args[0], first, second))
    yield from _axes(tuple(order), library)


def _turn(bound: Arguments, ndim: int, library: Library) -> Iterator[Form]:
    return _swap((bound[0], -2, -1), ndim, library) if ndim > 1 else iter(())


def _permute(bound: Arguments, ndim: int, library: Library) -> Iterator[Form]:
    return _axes(tuple(int(dim) % max(ndim, 1) for dim in bound[1]), library)


def _operator_only(bound: Arguments, ndim: int, library: Library) -> Iterator[Form]:
    return iter(())


#: Ops that are asked for by the shape or the order of dimensions that comes out.
SHAPED: dict[str, Shaped] = {
    "reshape": _reshape,
    "view": _reshape,
    "flatten": _reshape,
    "ravel": _reshape,
    "unflatten": _reshape,
    "expand": _expand,
    "broadcast_to": _expand,
    "permute": _permute,
    "transpose": _swap,
    "swapaxes": _swap,
    "T": _turn,
    "mT": _turn,
    "t": _turn,
    "getitem": _operator_only,
}
