"""Edits that undo a slip of a derivation in one part of a formula.

An edit is small and may make no sense: the search evaluates and verifies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, islice

import numpy as np

from gradcheck.autograd.op import lookup
from gradcheck.checks.failures.correction import further_edits as further
from gradcheck.checks.failures.correction.edit_position import TRANSPOSES, EditPosition, Operands
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool, Path, is_op, is_shape
from gradcheck.language.expr.nodes import Attribute, Call, Gradient, Literal, Name, Sequence

_FUNCTIONS = (("sin", "cos"), ("sinh", "cosh"), ("sqrt", "rsqrt"), ("softmax", "log_softmax"))
_PAIRS = (*_FUNCTIONS, ("sum", "mean"), ("amax", "amin"), ("maximum", "minimum"))
_COMPARISONS = {"gt": ("lt", "ge"), "lt": ("gt", "le"), "ge": ("le", "gt"), "le": ("ge", "lt")}
#: Ops that are mistaken for one another.
_SIMILAR_OPS: dict[str, tuple[str, ...]] = {
    **{one: (other,) for pair in _PAIRS for one, other in (pair, pair[::-1])},
    "sum": ("mean", "trace"),
    "trace": ("sum",),
    "mul": ("div", "matmul"),
    "div": ("mul",),
    "matmul": ("mul", "linalg.solve"),
    "linalg.solve": ("matmul",),
    "log": ("log2", "log10"),
    "log2": ("log",),
    "log10": ("log",),
    "exp": ("log",),
    **_COMPARISONS,
}
_PROBABILITIES = ("sigmoid", "softmax", "tanh", "exp")
#: Operands whose order matters.
_NONCOMMUTATIVE = ("sub", "div", "matmul", "pow", "mm", "outer", "kron", "floor_divide")
#: The most pairs in a list that are exchanged.
_PLACES = 6

EditRule = Callable[[EditPosition], Iterator[int]]


def toggle_transpose(at: EditPosition) -> Iterator[int]:
    """Add or remove a transpose."""
    if isinstance(at.parent, Attribute):
        return
    if is_op(at.node, *TRANSPOSES):
        yield at.children[0]
    elif at.ndim == 2 and not (at.parent is not None and is_op(at.parent, *TRANSPOSES)):
        yield at.pool.call("T", at.part)


def swap_operands(at: EditPosition) -> Iterator[int]:
    """Exchange operands, in a product also transposed; exchange list items."""
    if isinstance(at.node, Sequence):
        for first, second in islice(combinations(range(len(at.children)), 2), _PLACES):
            parts = list(at.children)
            parts[first], parts[second] = parts[second], parts[first]
            yield at.pool.add_node(at.node, tuple(parts))
    if is_op(at.node, "where") and len(at.children) == 3:
        condition, then, otherwise = at.children
        yield at.pool.add_node(at.node, (condition, otherwise, then))
    if is_op(at.node, *_NONCOMMUTATIVE) and len(at.children) == 2:
        a, b = at.children
        if is_op(at.node, "matmul") and {np.ndim(at.pool.value(x)) for x in (a, b)} == {1, 2}:
            return  # `A.T @ v` is meant, not `v @ A`
        yield at.pool.add_node(at.node, (b, a))
        if is_op(at.node, "matmul") and all(at.pool.array(x) is not None for x in (a, b)):
            yield at.pool.add_node(at.node, tuple(_transpose(at.pool, x) for x in (b, a)))


def _transpose(pool: ExpressionPool, part: int) -> int:
    array = pool.array(part)
    if is_op(pool.exprs[part], *TRANSPOSES):
        return pool.children[part][0]
    return pool.call("T", part) if array is not None and array.ndim == 2 else part


def replace_similar_op(at: EditPosition) -> Iterator[int]:
    """Replace `sum` by `mean`, `sin` by `cos`, `@` by `*`."""
    node = at.node
    if isinstance(node, Call):
        for other in _SIMILAR_OPS.get(node.op, ()):
            if not node.kwargs or _has_parameters(other, [name for name, _ in node.kwargs]):
                yield at.pool.add_node(Call(other, node.args, node.kwargs), at.children)


def _has_parameters(op: str, names: list[str]) -> bool:
    entry = lookup(op)
    return entry is not None and all(any(p.name == name for p in entry.parameters) for name in names)


def change_dim(at: EditPosition) -> Iterator[int]:
    """Change a dimension, take all, or add one."""
    node = at.node
    if not isinstance(node, Call) or not _has_parameters(node.op, ["dim"]) or not at.children:
        return
    array = at.pool.array(at.children[0])
    entry = lookup(node.op)
    if array is None or entry is None:
        return
    names = [parameter.name for parameter in entry.parameters]
    first = names.index("dim")
    given = dict(zip(names[first:], node.args[first:], strict=False))  # what stands by position from `dim` on
    given |= {"dim" if name == "axis" else name: value for name, value in node.kwargs}
    stated = given.pop("dim", None)
    for dim in range(array.ndim):
        if stated != Literal(dim):
            yield at.pool.add(Call(node.op, node.args[:first], (("dim", Literal(dim)), *given.items())))
    if isinstance(stated, Sequence):
        for dims in combinations(map(Literal, range(array.ndim)), len(stated.children)):
            yield at.pool.add(Call(node.op, node.args[:first], (("dim", Sequence(dims)), *given.items())))
    if stated is not None and not entry.parameters[first].required:
        rest = tuple((name, value) for name, value in given.items() if name not in ("keepdim", "keepdims"))
        yield at.pool.add(Call(node.op, node.args[:first], rest))


def toggle_keepdim(at: EditPosition) -> Iterator[int]:
    """Add or remove `keepdim`."""
    node = at.node
    if not isinstance(node, Call) or not _has_parameters(node.op, ["dim", "keepdim"]):
        return
    others = tuple((name, value) for name, value in node.kwargs if name not in ("keepdim", "keepdims"))
    others = () if others == (("dim", Literal(None)),) else others
    if len(others) < len(node.kwargs):
        yield at.pool.add(Call(node.op, node.args, others))
    elif others or len(node.args) == 2:
        yield at.pool.add(Call(node.op, node.args, (*others, ("keepdim", Literal(True)))))


def toggle_sign(at: EditPosition) -> Iterator[int]:
    """Add or remove a minus."""
    if is_op(at.node, "neg"):
        yield at.children[0]
        return
    if is_op(at.node, "add", "sub") and len(at.children) == 2:
        yield at.pool.call("sub" if is_op(at.node, "add") else "add", *at.children)
        if is_op(at.node, "add"):  # the sign of the first term
            yield at.pool.call("sub", *reversed(at.children))
    if at.parent is not None and is_op(at.parent, *_COMPARISONS):  # `x > 0` is meant, not `-x < 0`
        return
    elif at.is_tensor and at.is_term and not at.is_summand:
        yield at.pool.call("neg", at.part)


def change_number(at: EditPosition) -> Iterator[int]:
    """Change a literal, also to one of the derived formula."""
    value = at.node.value if isinstance(at.node, Literal) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or at.parent is None:
        return
    if not is_op(at.parent, "mul", "div", "add", "sub", "pow", "neg"):
        return
    half = value // 2 if isinstance(value, int) and value % 2 == 0 else value / 2
    idle = 1 if is_op(at.parent, "pow", "neg") else 0  # better taken away than written
    for other in (value + 1, value - 1, value * 2, half, -value):
        if other not in (value, idle, 1 if is_op(at.parent, "mul") else idle):
            yield at.pool.literal(other)
    yield from (other for other in at.operands.literals if other != at.part)
    if value == 1 and is_op(at.parent, "add", "sub"):
        yield from (part for part, _ in at.operands.tensors)


def scale_by_constant(at: EditPosition) -> Iterator[int]:
    """Multiply or divide by 2 or a size."""
    if at.is_tensor and at.is_term:
        call = at.pool.call
        yield call("mul", at.pool.literal(2), at.part)
        yield call("div", at.part, at.pool.literal(2))
        for size in (*at.operands.sizes, *at.operands.numbers):
            yield call("div", at.part, size)
            yield call("mul", at.part, size)
        if at.parent is not None:
            for number in at.operands.literals:
                if isinstance(at.pool.value(number), int) and at.pool.value(number) > 2:
                    yield call("mul", number, at.part)
        for size in at.operands.sizes if at.operands.has_square_roots else ():
            root = call("pow", size, at.pool.literal(0.5))
            yield call("div", at.part, root)
            yield call("mul", at.part, root)


def toggle_complement(at: EditPosition) -> Iterator[int]:
    """Replace p by `1 - p`, or back, and a function f by `f - 1`."""
    call, one = at.pool.call, at.pool.literal(1)
    if is_op(at.node, "sub") and at.children[0] == one:
        yield at.children[1]
    if at.is_tensor and (at.parent is None or is_op(at.parent, "mul", "div", "neg")):
        if isinstance(at.node, Name):
            yield call("sub", one, at.part)
        elif is_op(at.node, *_PROBABILITIES):
            yield from (call("sub", one, at.part), call("sub", at.part, one))


def keep_one_operand(at: EditPosition) -> Iterator[int]:
    """Keep one operand alone."""
    if isinstance(at.node, Call) and at.is_tensor and not is_op(at.node, *TRANSPOSES, "neg"):
        for part in dict.fromkeys(at.children):
            if at.pool.array(part) is not None:
                yield part


def change_tensor(at: EditPosition) -> Iterator[int]:
    """Replace a tensor by one of its shape, or a part of the derived formula.

    In a product of matrices that has no value, also by one of another shape.
    """
    array = at.pool.array(at.part)
    is_function = is_op(at.node, *at.operands.functions)
    is_one = isinstance(at.node, (Name, Gradient)) or is_function
    if is_one and array is not None and not isinstance(at.parent, Attribute):
        yield from at.operands.of_shape(array.shape, at.part) if not is_function else ()
        yield from (part for part, shape in at.operands.parts if shape == array.shape and at.parent is not None)
        if at.operands.is_broken and at.parent is not None:
            if is_op(at.parent, "matmul", "mm", "mv"):
                yield from (part for part, shape in at.operands.tensors if shape != array.shape)
            elif array.ndim == 1:
                yield at.pool.column(at.part)


def change_size(at: EditPosition) -> Iterator[int]:
    """Replace a size by another, or by one less, as of a variance."""
    node = at.node
    is_whole = type(at.pool.value(at.part)) is int
    is_factor = at.parent is not None and is_op(at.parent, "mul", "div")
    if is_factor and is_whole and isinstance(node, Literal):  # what happened to be this number
        yield from at.operands.sizes
    elif is_factor and is_whole and not is_op(node, "add", "sub"):
        yield at.pool.call("sub", at.part, at.pool.literal(1))
        if at.operands.has_square_roots:
            yield at.pool.call("pow", at.part, at.pool.literal(0.5))
    if is_op(node, "getitem") and is_shape(at.pool.exprs[at.children[0]]):
        shape = at.pool.value(at.children[0])
        if isinstance(shape, tuple):
            for dim in range(len(shape)):
                yield at.pool.call("getitem", at.children[0], at.pool.literal(dim))
        yield from at.operands.sizes
        if at.parent is not None and is_op(at.parent, "mul", "div"):  # a size that happened to be this number
            yield at.pool.literal(2)
    elif type(at.pool.value(at.part)) is int and (isinstance(node, Name) or isinstance(at.parent, Sequence)):
        yield from at.operands.sizes


def toggle_square(at: EditPosition) -> Iterator[int]:
    """Add a square, or remove a power."""
    if is_op(at.node, "pow", "square"):
        yield at.children[0]
    elif at.is_tensor and isinstance(at.node, (Name, Call)) and at.is_base:
        yield at.pool.call("pow", at.part, at.pool.literal(2))


def move_power(at: EditPosition) -> Iterator[int]:
    """Move a power to a part, or back: `1 - x ** 2` for `(1 - x) ** 2`."""
    pool, node = at.pool, at.node
    if is_op(node, "pow", "square") and isinstance(pool.exprs[at.children[0]], Call):
        inner, exponent = at.children[0], at.children[1:]
        for place, part in enumerate(pool.children[inner]):
            if pool.array(part) is not None:
                yield _with_part(at, inner, place, pool.add_node(node, (part, *exponent)))
    elif isinstance(node, Call):
        for place, part in enumerate(at.children):
            if is_op(pool.exprs[part], "pow", "square"):
                base, *exponents = pool.children[part]
                yield pool.add_node(pool.exprs[part], (_with_part(at, at.part, place, base), *exponents))


def _with_part(at: EditPosition, whole: int, place: int, part: int) -> int:
    children = list(at.pool.children[whole])
    children[place] = part
    return at.pool.add_node(at.pool.exprs[whole], tuple(children))


#: Edits with their costs: of right formulas, the cheapest and shortest is shown.
EDITS: tuple[tuple[EditRule, float], ...] = (
    (toggle_transpose, 1.05),
    (toggle_sign, 1.0),
    (swap_operands, 1.0),
    (toggle_keepdim, 1.0),
    (change_dim, 1.0),
    (change_size, 1.2),
    (change_number, 1.2),
    (replace_similar_op, 1.2),
    (scale_by_constant, 1.25),
    (further.complete_tensor, 1.25),
    (change_tensor, 1.6),
    (further.change_tensor_throughout, 1.7),
    (further.exchange_tensors, 1.65),
    (further.scale_tensor_throughout, 2.1),
    (further.change_reductions, 1.3),
    (further.symmetrise, 1.3),
    (toggle_complement, 1.3),
    (further.add_missing_path, 1.2),
    (further.add_missing_term, 1.3),
    (keep_one_operand, 1.8),
    (toggle_square, 1.5),
    (move_power, 1.2),
    (further.change_slice, 1.2),
    (further.change_index, 1.2),
    (further.change_step, 1.45),
    (further.exchange_subscripts, 1.2),
    (further.add_missing_function, 1.6),
    (further.add_missing_factor, 2.0),
    (further.add_missing_condition, 1.7),
    (further.add_missing_sum, 2.0),
)


#: The further cost of a factor or sign inside a function, `relu(2 * x)` for `2 * relu(x)`, and of `sigmoid(x).T`.
_INSIDE, _OUTSIDE_FIRST = 0.3, (scale_by_constant, toggle_sign, toggle_transpose)


def all_single_edits(pool: ExpressionPool, operands: Operands, root: int) -> Iterator[tuple[int, Path, float]]:
    """Yield every formula one edit away, where it changed, and the cost."""
    for path, part, parent in pool.positions(root):
        at = EditPosition(pool, operands, part, None if parent < 0 else pool.exprs[parent])
        for edit, cost in EDITS:
            is_transposed_function = edit is toggle_transpose and is_op(at.node, *at.operands.functions)
            is_unlikely = (edit in _OUTSIDE_FIRST and at.is_argument) or is_transposed_function
            unlikely = cost + (_INSIDE if is_unlikely else 0.0)
            for other in edit(at):
                if other != part:
                    yield pool.replace(root, path, other), path, unlikely
