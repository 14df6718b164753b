"""The slips of a derivation, undone: each function yields what could stand in place of one part of a formula.

An edit is small, and need not make sense: whoever asks for it evaluates it, and verifies what fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradcheck.autograd.op import lookup
from gradcheck.checks.failures.correction.bench import BROKEN, Bench, Path, is_op, is_shape
from gradcheck.checks.failures.correction.vocabulary import Vocabulary
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name, Sequence


@dataclass(frozen=True, slots=True)
class Spot:
    """One part of a formula in its place."""

    bench: Bench
    words: Vocabulary
    part: int
    parent: Expr | None

    @property
    def node(self) -> Expr:
        return self.bench.exprs[self.part]

    @property
    def below(self) -> tuple[int, ...]:
        return self.bench.children[self.part]

    @property
    def ndim(self) -> int:
        """Of a tensor; -1 for anything else, also for what cannot be evaluated."""
        array = self.bench.array(self.part)
        return -1 if array is None else array.ndim

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or a call that cannot be evaluated and may be meant for one."""
        value = self.bench.value(self.part)
        return self.bench.array(self.part) is not None or (value is BROKEN and isinstance(self.node, Call))

    @property
    def is_term(self) -> bool:
        """Whether a factor here is not the same as one further up."""
        return self.parent is None or not (is_op(self.parent, *_LINEAR) or isinstance(self.parent, Attribute))

    @property
    def is_summand(self) -> bool:
        """Whether its sign is the operator's beside it."""
        return self.parent is not None and is_op(self.parent, "add", "sub")


#: Through these a factor, or a sign, of an operand is one of the result.
_LINEAR = ("mul", "div", "matmul", "mm", "mv", "bmm", "dot", "T", "mT", "t", "transpose", "neg", "sum", "mean", "diag",
           "reshape", "view", "unsqueeze", "squeeze", "expand", "outer")  # fmt: skip
_TRANSPOSES = ("T", "mT", "t", "transpose")
#: Ops that are taken for one another.
_CONFUSED = {
    "sum": ("mean",), "mean": ("sum",), "sin": ("cos",), "cos": ("sin",), "sinh": ("cosh",), "cosh": ("sinh",),
    "add": ("sub",), "sub": ("add",), "mul": ("div", "matmul"), "div": ("mul",), "matmul": ("mul",),
    "log": ("log2", "log10"), "log2": ("log",), "log10": ("log",), "exp": ("log",), "softmax": ("log_softmax",),
    "log_softmax": ("softmax",), "sqrt": ("rsqrt",), "rsqrt": ("sqrt",), "amax": ("amin",), "amin": ("amax",),
    "maximum": ("minimum",), "minimum": ("maximum",), "gt": ("lt", "ge"), "lt": ("gt", "le"), "ge": ("le", "gt"),
    "le": ("ge", "lt"),
}  # fmt: skip
#: Operands whose order matters.
_ORDERED = ("sub", "div", "matmul", "pow", "mm", "outer", "floor_divide", "where")

Edit = Callable[[Spot], Iterator[int]]


def transposed(spot: Spot) -> Iterator[int]:
    """A transpose added, or taken away."""
    if isinstance(spot.parent, Attribute):
        return
    if is_op(spot.node, *_TRANSPOSES):
        yield spot.below[0]
    elif spot.ndim == 2 and not (spot.parent is not None and is_op(spot.parent, *_TRANSPOSES)):
        yield spot.bench.call("T", spot.part)


def swapped(spot: Spot) -> Iterator[int]:
    """The operands the other way round; those of a product also each transposed."""
    if is_op(spot.node, *_ORDERED) and len(spot.below) == 2:
        a, b = spot.below
        yield spot.bench.like(spot.node, (b, a))
        if is_op(spot.node, "matmul") and all(spot.bench.array(x) is not None for x in (a, b)):
            yield spot.bench.like(spot.node, tuple(_transpose(spot.bench, x) for x in (b, a)))


def _transpose(bench: Bench, part: int) -> int:
    array = bench.array(part)
    if is_op(bench.exprs[part], *_TRANSPOSES):
        return bench.children[part][0]
    return bench.call("T", part) if array is not None and array.ndim == 2 else part


def confused(spot: Spot) -> Iterator[int]:
    """`mean` for `sum`, `cos` for `sin`, `*` for `@`."""
    node = spot.node
    if isinstance(node, Call):
        for other in _CONFUSED.get(node.op, ()):
            if not node.kwargs or _takes(other, [name for name, _ in node.kwargs]):
                yield spot.bench.like(Call(other, node.args, node.kwargs), spot.below)


def _takes(op: str, names: list[str]) -> bool:
    entry = lookup(op)
    return entry is not None and all(any(p.name == name for p in entry.parameters) for name in names)


def other_dim(spot: Spot) -> Iterator[int]:
    """Another dimension, all of them, or one where there was none."""
    node = spot.node
    if not isinstance(node, Call) or not _takes(node.op, ["dim"]) or not spot.below:
        return
    array = spot.bench.array(spot.below[0])
    entry = lookup(node.op)
    if array is None or entry is None:
        return
    positional = [p.name for p in entry.parameters].index("dim")
    given = dict(node.kwargs)
    stated = given.get("dim", given.get("axis", node.args[positional] if positional < len(node.args) else None))
    rest = [(name, value) for name, value in node.kwargs if name not in ("dim", "axis")]
    tail = node.args[positional + 1 :]
    if tail:  # whatever follows by position is written by name
        names = [p.name for p in entry.parameters][positional + 1 :]
        rest = [*zip(names, tail, strict=False), *rest]
    for dim in range(array.ndim):
        if stated != Literal(dim):
            yield spot.bench.add(Call(node.op, node.args[:positional], (("dim", Literal(dim)), *rest)))
    if stated is not None and not entry.parameters[positional].required:
        rest = [(name, value) for name, value in rest if name not in ("keepdim", "keepdims")]
        yield spot.bench.add(Call(node.op, node.args[:positional], tuple(rest)))


def kept_dim(spot: Spot) -> Iterator[int]:
    """`keepdim` added, or taken away."""
    node = spot.node
    if not isinstance(node, Call) or not _takes(node.op, ["dim", "keepdim"]):
        return
    others = tuple((name, value) for name, value in node.kwargs if name not in ("keepdim", "keepdims"))
    if len(others) < len(node.kwargs):
        yield spot.bench.add(Call(node.op, node.args, others))
    elif others or len(node.args) == 2:
        yield spot.bench.add(Call(node.op, node.args, (*others, ("keepdim", Literal(True)))))


def other_sign(spot: Spot) -> Iterator[int]:
    """A minus added, or taken away."""
    if is_op(spot.node, "neg"):
        yield spot.below[0]
    elif spot.is_tensor and spot.is_term and not spot.is_summand:
        yield spot.bench.call("neg", spot.part)


def other_number(spot: Spot) -> Iterator[int]:
    """Another number where one is written."""
    node = spot.node
    if not isinstance(node, Literal) or type(node.value) not in (int, float) or spot.parent is None:
        return
    if not is_op(spot.parent, "mul", "div", "add", "sub", "pow", "neg"):
        return
    value = node.value
    half = value // 2 if type(value) is int and value % 2 == 0 else value / 2  # type: ignore[operator]
    idle = 0 if is_op(spot.parent, "add", "sub", "mul") else 1  # better taken away than written
    for other in (value + 1, value - 1, value * 2, half, -value):  # type: ignore[operator]
        if other not in (value, idle, 1 if is_op(spot.parent, "mul") else idle):
            yield spot.bench.literal(other)


def scaled(spot: Spot) -> Iterator[int]:
    """A factor 2, 1/2, n or 1/n."""
    if spot.is_tensor and spot.is_term:
        call = spot.bench.call
        yield call("mul", spot.bench.literal(2), spot.part)
        yield call("div", spot.part, spot.bench.literal(2))
        for size in spot.words.sizes:
            yield call("div", spot.part, size)
            yield call("mul", spot.part, size)


def dropped(spot: Spot) -> Iterator[int]:
    """One of the operands alone, the others being too much."""
    if isinstance(spot.node, Call) and spot.is_tensor and not is_op(spot.node, *_TRANSPOSES, "neg"):
        for part in dict.fromkeys(spot.below):
            if spot.bench.array(part) is not None:
                yield part


def other_name(spot: Spot) -> Iterator[int]:
    """Another tensor of the same shape."""
    if isinstance(spot.node, (Name, Gradient)):
        array = spot.bench.array(spot.part)
        if array is not None and not (isinstance(spot.parent, Attribute)):
            yield from spot.words.of_shape(array.shape, spot.part)


def other_size(spot: Spot) -> Iterator[int]:
    """Another size: `x.shape[1]` for `x.shape[0]`, or that of another tensor."""
    node = spot.node
    if is_op(node, "getitem") and is_shape(spot.bench.exprs[spot.below[0]]):
        shape = spot.bench.value(spot.below[0])
        if isinstance(shape, tuple):
            for dim in range(len(shape)):
                yield spot.bench.call("getitem", spot.below[0], spot.bench.literal(dim))
        yield from spot.words.sizes
        if spot.parent is not None and is_op(spot.parent, "mul", "div"):  # a size that happened to be this number
            yield spot.bench.literal(2)
    elif type(spot.bench.value(spot.part)) is int and (isinstance(node, Name) or isinstance(spot.parent, Sequence)):
        yield from spot.words.sizes


def other_power(spot: Spot) -> Iterator[int]:
    """A square added, or a power taken away."""
    if is_op(spot.node, "pow", "square"):
        yield spot.below[0]
    elif spot.is_tensor and isinstance(spot.node, (Name, Call)) and not is_op(spot.node, "mul", "matmul", "add", "sub"):
        yield spot.bench.call("pow", spot.part, spot.bench.literal(2))


def with_term(spot: Spot) -> Iterator[int]:
    """A term of the derived formula that is missing, or has the wrong sign."""
    if spot.parent is None:
        for term in spot.words.terms:
            node = spot.bench.exprs[term]
            if term in (spot.part, *spot.below):  # it is there already
                continue
            if is_op(node, "neg"):
                yield spot.bench.call("sub", spot.part, spot.bench.children[term][0])
            else:
                yield spot.bench.call("add", spot.part, term)


def with_factor(spot: Spot) -> Iterator[int]:
    """A factor that was dropped: an elementwise one, or one of a product of matrices."""
    array = spot.bench.array(spot.part)
    if array is None or not spot.is_term:
        return
    call = spot.bench.call
    for tensor, shape in spot.words.tensors:
        if len(shape) <= array.ndim and tensor not in spot.below[1:]:  # `x * y / y` has not gained a factor
            yield call("mul", spot.part, tensor)
            yield call("div", spot.part, tensor)
        if array.ndim == 2 and len(shape) == 2:
            turned = call("T", tensor)
            for factor, (rows, columns) in ((tensor, shape), (turned, shape[::-1])):
                if rows == array.shape[1]:
                    yield call("matmul", spot.part, factor)
                if columns == array.shape[0]:
                    yield call("matmul", factor, spot.part)


def summed(spot: Spot) -> Iterator[int]:
    """A sum that is missing: broadcasting was not undone."""
    if spot.is_term:
        for dim in range(spot.ndim):
            yield spot.bench.call("sum", spot.part, dim=spot.bench.literal(dim))
            yield spot.bench.call("sum", spot.part, dim=spot.bench.literal(dim), keepdim=spot.bench.literal(True))


#: Each with how unlikely it is: among formulas that are right, the likeliest and shortest is shown.
EDITS: tuple[tuple[Edit, float], ...] = (
    (transposed, 1.0),
    (other_sign, 1.0),
    (swapped, 1.0),
    (kept_dim, 1.0),
    (other_dim, 1.0),
    (other_size, 1.2),
    (other_number, 1.2),
    (confused, 1.2),
    (scaled, 1.5),
    (other_name, 1.6),
    (with_term, 1.3),
    (dropped, 1.8),
    (other_power, 1.8),
    (with_factor, 2.0),
    (summed, 2.0),
)


def edits(bench: Bench, words: Vocabulary, root: int) -> Iterator[tuple[int, Path, float]]:
    """Every formula that is one edit away: the formula, where it was changed, and how unlikely the edit is."""
    for path, part, parent in bench.positions(root):
        spot = Spot(bench, words, part, None if parent < 0 else bench.exprs[parent])
        for edit, cost in EDITS:
            for other in edit(spot):
                if other != part:
                    yield bench.replace(root, path, other), path, cost
