"""Calls in an expression: ops, methods and special forms.

Special forms are no ops: `grad(x)`, `len(x.shape)`, `x.size(0)`, `x.double()`, `slice(1, 3)`. A further one is a reader
here, and an entry in `FUNCTIONS` or `METHODS`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gradcheck.autograd.op import Op, every_name, lookup
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.autograd.signature import KEYWORD_ALIASES
from gradcheck.errors import ArgumentError, Hint, InvalidCase
from gradcheck.language.expr.argument_names import place_arguments
from gradcheck.language.expr.nodes import Attribute, Call, Derivative, Dtype, Expr, Gradient, Literal, Slice
from gradcheck.language.expr.syntax import ParsePlan, Source, dotted_name, signed_number
from gradcheck.language.expr.torch_names import (
    FOREIGN_OPS,
    LAYERS,
    NAMESPACES,
    NUMPY_LIKE_NAMES,
    OTHER_DIMS,
    REPLACEMENT_HINTS,
    USAGE_HINTS,
    find_op,
    torch_dtype,
)
from gradcheck.language.suggest import did_you_mean


class NoSuchOp(InvalidCase):
    """A call of a name that is no op, but may be a tensor of the case."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call to parse: `node` in its `source`, `depth` brackets deep."""

    source: Source
    node: ast.Call
    depth: int

    @property
    def at(self) -> int:
        """The position of its first character."""
        return self.source.at(self.node)

    def error(self, message: str, hint: str = "", at: ast.expr | None = None) -> InvalidCase:
        """Return an error at the call's beginning, or at that of an argument."""
        return self.source.error(self.source.at(at or self.node), message, hint)

    def arguments(self, counts: tuple[int, ...], usage: str) -> list[ast.expr]:
        """Return the arguments; raise InvalidCase if their number is wrong."""
        if self.node.keywords or len(self.node.args) not in counts:
            raise self.error("wrong arguments", f"it is written {usage}")
        return self.node.args


def _grad(site: CallSite) -> ParsePlan:
    arg = site.arguments((1,), "grad(x), with the name of a tensor")[0]
    gradient = Gradient(_tensor_name(site, arg, "grad(…) takes the name of a tensor"), at=site.at)
    return [], lambda parts: gradient


def _derivative(site: CallSite, kind: str, counts: tuple[int, ...], usage: str) -> ParsePlan:
    """Parse `jacobian(y, x)`, `hessian(f, x)` and `hessian(f, x, z)`."""
    args = site.arguments(counts, usage)
    names = [_tensor_name(site, arg, f"{kind}(…) takes names of tensors") for arg in args]
    derivative = Derivative.of(kind, *names, at=site.at)
    return [], lambda parts: derivative


def _tensor_name(site: CallSite, arg: ast.expr, message: str) -> str:
    """Return `x` or `m[0]`. Raises InvalidCase for any other expression."""
    index, named = "", arg
    if isinstance(arg, ast.Subscript) and isinstance(arg.slice, ast.Constant) and type(arg.slice.value) is int:
        index, named = f"[{arg.slice.value}]", arg.value
    if not isinstance(named, ast.Name):
        raise site.error(message, "give the expression a name of its own, in `graph`", at=arg)
    return named.id + index


def _no_grad(site: CallSite) -> ParsePlan:
    (arg,) = site.arguments((1,), "no_grad(expression)")
    return [(arg, site.depth + 1)], lambda parts: Call("detach", (parts[0],), at=site.at)


def _read_len(site: CallSite, name: str) -> ParsePlan:
    """Parse `len(x)` and `numel(x)`."""
    (arg,) = site.arguments((1,), f"{name}(x)")
    return [(arg, site.depth + 1)], lambda parts: Attribute(parts[0], name, at=site.at)


def _slice(site: CallSite) -> ParsePlan:
    """Parse `slice(1, None)`, which is `1:` inside an index."""
    args = site.arguments((1, 2, 3), "slice(stop), slice(start, stop) or slice(start, stop, step)")

    def build(parts: list[Expr]) -> Expr:
        given = [None if part == Literal(None) else part for part in parts]
        return Slice(*([None, *given] if len(given) == 1 else given), at=site.at)

    return [(arg, site.depth + 1) for arg in args], build


def _float(site: CallSite) -> ParsePlan:
    (arg,) = site.arguments((1,), "float('inf'), float('-inf') or float('nan')")
    given = arg.value if isinstance(arg, ast.Constant) and isinstance(arg.value, str) else signed_number(arg)
    try:
        if given is None or isinstance(given, complex):
            raise ValueError
        value = float(given)
    except (ValueError, OverflowError):
        message = "float(…) takes a number written out, as in float('-inf')"
        raise site.error(message, "leave it out around a size or a tensor", at=arg) from None
    return [], lambda parts: Literal(value, at=site.at)


def _complex(site: CallSite) -> ParsePlan | None:
    """Parse `complex(1, 2)` as a number; other arguments call the op."""
    numbers = [signed_number(arg) for arg in site.node.args]
    real = [number for number in numbers if isinstance(number, (int, float))]
    if site.node.keywords or len(numbers) != 2 or len(real) != 2:
        return None
    return [], lambda parts: Literal(complex(*real), at=site.at)


def _size(site: CallSite, owner: ast.expr) -> ParsePlan:
    """Parse `x.size(0)` as `x.shape[0]`."""
    keywords = [keyword for keyword in site.node.keywords if keyword.arg == "dim"]
    args = [*site.node.args, *(keyword.value for keyword in keywords)]
    if len(args) > 1 or len(keywords) < len(site.node.keywords):
        raise site.error("wrong arguments", "it is written x.size() or x.size(0)")

    def build(parts: list[Expr]) -> Expr:
        shape = Attribute(parts[0], "shape", at=site.at)
        return Call("getitem", (shape, parts[1]), at=site.at) if parts[1:] else shape

    return [(owner, site.depth), *((arg, site.depth + 1) for arg in args)], build


def _attribute(site: CallSite, owner: ast.expr, name: str, usage: str) -> ParsePlan:
    """Parse `x.dim()` as `x.ndim`."""
    site.arguments((0,), usage)
    return [(owner, site.depth)], lambda parts: Attribute(parts[0], name, at=site.at)


def _cast(site: CallSite, owner: ast.expr, name: str) -> ParsePlan:
    """Parse `x.double()` as `x.to(torch.float64)`."""
    site.arguments((0,), f"x.to(torch.{name})")
    return [(owner, site.depth)], lambda parts: Call("to", (parts[0], Dtype(name, at=site.at)), at=site.at)


#: The readers of `name(…)`.
FUNCTIONS: dict[str, Callable[[CallSite], ParsePlan | None]] = {
    "grad": _grad,
    "jacobian": partial(_derivative, kind="jacobian", counts=(2,), usage="jacobian(y, x)"),
    "hessian": partial(_derivative, kind="hessian", counts=(2, 3), usage="hessian(f, x) or hessian(f, x, z)"),
    "no_grad": _no_grad,
    "len": partial(_read_len, name="len"),
    "numel": partial(_read_len, name="numel"),
    "slice": _slice,
    "float": _float,
    "complex": _complex,
}
#: The readers of `owner.name(…)`.
METHODS: dict[str, Callable[[CallSite, ast.expr], ParsePlan]] = {
    "size": _size,
    "dim": partial(_attribute, name="ndim", usage="x.dim()"),
    "ndimension": partial(_attribute, name="ndim", usage="x.dim()"),
    "numel": partial(_attribute, name="numel", usage="x.numel()"),
    "nelement": partial(_attribute, name="numel", usage="x.numel()"),
}


#: Names that no tensor has.
_NO_TENSORS = frozenset({"torch", "math", *NUMPY_LIKE_NAMES})


def plan_call(site: CallSite) -> ParsePlan:
    """Return the plan of a call; raise InvalidCase for unknown names."""
    node, func = site.node, site.node.func
    if isinstance(func, ast.Name):
        read = FUNCTIONS.get(func.id)
        return (read(site) if read else None) or _function(site, "", func.id)
    if not isinstance(func, ast.Attribute):
        raise site.error("only a function or a method can be called", _layer_hint(func))
    owner = dotted_name(func.value)
    if owner == "torch" and func.attr == "numel" and node.args:
        return _read_len(site, "numel")
    first, last = owner.partition(".")[0], owner.rpartition(".")[2]
    is_foreign = first in NUMPY_LIKE_NAMES and last not in PROPERTIES  # `np.T.sum()` is about a tensor called np
    is_foreign = is_foreign or (owner in LAYERS and lookup(func.attr) is None)
    if (is_foreign or owner in NAMESPACES) and ("." in owner or not _reads_as_method(node, owner, func.attr)):
        return _function(site, owner, func.attr)
    return _method(site, func)


def _layer_hint(func: ast.expr) -> str:
    """Return a hint for `nn.ReLU()(x)`, which makes a layer and calls it."""
    if isinstance(func, (ast.Constant, ast.BinOp)):
        return "an operator is missing: a product is written * by elements, @ of matrices"
    made = func.func if isinstance(func, ast.Call) else func
    name = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
    instead = FOREIGN_OPS.get(name) or (f"{snake_case(name)}(x)" if lookup(snake_case(name)) else "")
    return f"write {instead}" if instead else ""


def _reads_as_method(node: ast.Call, owner: str, name: str) -> bool:
    """Return whether `F.sum(0)` means a tensor F, as the function needs one."""
    op = lookup(name)
    if op is None:
        return name in METHODS
    if find_op(owner, name) not in (op, None):  # the function is another than the method
        return bool(node.args) and signed_number(node.args[0]) is not None
    if not op.method or not op.parameters or any(key.arg == op.parameters[0].name for key in node.keywords):
        return False
    if owner in _NO_TENSORS:
        return not node.args and not node.keywords
    given = len(node.args) + len(node.keywords)
    if not node.args or given < sum(p.required for p in op.parameters):
        return True
    numbers = [signed_number(arg) is not None for arg in node.args]
    return all(numbers) or (numbers[0] and not op.elementwise)


def _function(site: CallSite, namespace: str, name: str) -> ParsePlan:
    op = find_op(namespace, name)
    if op is None:
        called = f"{namespace}.{name}" if namespace else name
        hint = _foreign_hint(name, called) or _replacement_hint(name, "{}") or _op_hint(namespace, name, called)
        if isinstance(hint, Hint) and hint.old == called:
            hint = Hint(hint, called, hint.new, site.source.place_of(site.source.at(site.node.func)))
        at = site.source.name_at(site.node.func, name)
        raise NoSuchOp(f"there is no op '{called}'", place=site.source.place_of(at), hint=hint)
    return _op_call(site, op, [(arg, site.depth + 1) for arg in site.node.args])


def _foreign_hint(name: str, called: str) -> str:
    written = FOREIGN_OPS.get(name) or FOREIGN_OPS.get(name.lower(), "")
    if not written or lookup(name):
        return ""
    same = re.fullmatch(r"(\w+)\(x\)", written)
    return Hint(f"write {written}", called, same[1]) if same else f"write {written}"


def _replacement_hint(name: str, written: str) -> str:
    """Return a hint for a word that torch or Python has; `written` shows ops."""
    plain = name.rstrip("_")
    if name in REPLACEMENT_HINTS or plain == name or not lookup(plain):
        return REPLACEMENT_HINTS.get(name, "")
    return f"an op in place is not part of the language; write {written.format(plain)}"


def _op_hint(namespace: str, name: str, called: str) -> str:
    if namespace and (found := lookup(name) or lookup(snake_case(name))):
        return Hint(f"write {found.name}(…)", called, found.name)
    if name in PROPERTIES:
        return f"write x.{name}"
    words = [*every_name(), *FUNCTIONS]
    prefix = NAMESPACES.get(namespace, ("",))[0]
    known = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    return did_you_mean(name, known, "`gradcheck ops` lists them all")


def _method(site: CallSite, func: ast.Attribute) -> ParsePlan:
    name, at = func.attr, site.source.name_at(func, func.attr)
    if name in METHODS:
        return METHODS[name](site, func.value)
    op = lookup(name)
    if op is None and torch_dtype(name):
        return _cast(site, func.value, torch_dtype(name))
    if name in PROPERTIES:
        raise site.source.error(at, f"'{name}' is not called", Hint(f"write x.{name}", f"{name}()", name))
    if op is None:
        hint = _foreign_hint(name, name) or _replacement_hint(name, ".{}(…)") or _method_hint(name)
        raise site.source.error(at, f"there is no method '{name}'", hint)
    if not op.method:
        raise site.source.error(at, f"'{name}' is no method", f"it is a function: {op.signature}")
    args = [(func.value, site.depth), *((arg, site.depth + 1) for arg in site.node.args)]
    if op.name == "where" and len(args) > 1:  # x.where(condition, y) is where(condition, x, y)
        args[0], args[1] = args[1], args[0]
    return _op_call(site, op, args)


def snake_case(name: str) -> str:
    """Return the op's name for a layer's: `log_softmax` for `LogSoftmax`."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)
    joined = "_".join(words).lower()
    return joined if lookup(joined) else name.lower()


def _method_hint(name: str) -> str:
    ops = ((word, lookup(word)) for word in every_name() if "." not in word)
    methods = [word for word, op in ops if op is not None and op.method]
    return did_you_mean(name, [*methods, *METHODS], "`gradcheck ops` lists the ops")


def _op_call(site: CallSite, op: Op, args: list[tuple[ast.expr, int]]) -> ParsePlan:
    args, keywords = place_arguments(op, args, site.node.keywords, site.depth + 1)
    keys = tuple(_keyword(site, op, keyword) for keyword in keywords)
    children = args + [(keyword.value, site.depth + 1) for keyword in keywords]
    return children, partial(_build, site, op, keys)


def _keyword(site: CallSite, op: Op, keyword: ast.keyword) -> str:
    at = site.source.at(keyword)
    if keyword.arg is None:
        raise site.source.error(at, "an unpacking ** is not part of the language", "write the arguments out")
    known = [parameter.name for parameter in op.parameters]
    name = keyword.arg if keyword.arg in known else KEYWORD_ALIASES.get(keyword.arg, keyword.arg)
    if name not in known:
        if name in OTHER_DIMS and "dim" in known:
            meant = Hint("did you mean 'dim'?", name, "dim", site.source.place_of(at))
            raise site.source.error(at, f"{op.name} has no argument '{name}'", meant)
        hint = did_you_mean(name, known, REPLACEMENT_HINTS.get(name, f"its signature is {op.signature}"))
        raise site.source.error(at, f"{op.name} has no argument '{keyword.arg}'", hint)
    return name


#: Ops that keep a dimension only if it is named.
_DIM_FIRST = frozenset({"max", "min", "prod", "sum", "mean"})


def _build(site: CallSite, op: Op, keys: tuple[str, ...], parts: list[Expr]) -> Expr:
    positional = len(parts) - len(keys)
    args, kwargs = tuple(parts[:positional]), tuple(zip(keys, parts[positional:], strict=True))
    if len(set(keys)) < len(keys):
        raise site.error(f"{op.name} is given an argument twice", f"its signature is {op.signature}")
    try:
        op.bind(args, dict(kwargs))
    except ArgumentError as error:
        hint = USAGE_HINTS.get((op.name, min(len(parts), 3)), error.hint)
        raise site.error(error.message, hint) from None
    if op.name in ("sort", "argsort") and positional > 1 and "stable" in keys:
        raise site.error(f"{op.name} takes dim by its name beside stable", f"write {op.name}(x, dim=0, stable=True)")
    if op.name in _DIM_FIRST and positional == 1 and "keepdim" in keys and "dim" not in keys:
        raise site.error(f"{op.name} keeps a dimension that it is told", f"write {op.name}(x, dim=0, keepdim=True)")
    return Call(op.name, args, kwargs, at=site.at)
