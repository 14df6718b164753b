"""Mistakes of people who write code, applied to a right formula.

Those of derivations (`correction/edits`) are applied wherever a part occurs: code that computes a part once and uses
it twice is wrong twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from gradcheck.autograd.op import lookup
from gradcheck.checks.failures.correction.edit_position import EditPosition, Operands
from gradcheck.checks.failures.correction.edits import EDITS
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool, is_op
from gradcheck.language.expr.nodes import Call, Gradient, Literal, Name
from gradcheck.language.expr.nodes import Sequence as ListOfExprs
from gradcheck.language.expr.traverse import rewrite

_FAMILIES = (
    ("exp", "expm1"),
    ("log", "log1p"),
    ("round", "floor", "ceil", "trunc"),
    ("sigmoid", "tanh", "silu", "softmax"),
    ("relu", "abs", "sign", "clamp"),
    ("amax", "amin", "mean", "sum"),
    ("argmax", "argmin"),
    ("cumsum", "cumprod"),
)
_OPERATORS = ("mul", "div", "add", "sub")
#: Options that are forgotten or mistaken, by name, with their other values.
_OPTIONS: dict[str, tuple[bool | int | float | str, ...]] = {
    "unbiased": (True, False),
    "correction": (0, 1),
    "approximate": ("none", "tanh"),
    "eps": (0.0, 1e-12, 1e-8, 1e-6, 1e-5, 1e-3),
}

#: How many constants of the code are tried in place of numbers.
_MOST_WRITTEN = 8

FormulaMistake = Callable[[EditPosition], Iterator[int]]


def similar_function(at: EditPosition) -> Iterator[int]:
    """Yield `expm1` for `exp`, `floor` for `round`."""
    if isinstance(at.node, Call):
        for family in _FAMILIES:
            if at.node.op in family:
                yield from (at.pool.add_node(Call(o, at.node.args, at.node.kwargs), at.children) for o in family)


def another_option(at: EditPosition) -> Iterator[int]:
    """Yield another epsilon, `gelu` with `tanh`, a biased variance."""
    node = at.node
    entry = lookup(node.op) if isinstance(node, Call) else None
    if entry is None or not isinstance(node, Call) or not at.is_tensor:
        return
    known = [parameter.name for parameter in entry.parameters]
    given = dict(zip(known, node.args, strict=False)) | dict(node.kwargs)
    for name, values in _OPTIONS.items():
        if name in known:
            for value in values:
                if given.get(name) != Literal(value):
                    changed = {**given, name: Literal(value)}
                    yield at.pool.add(Call(node.op, (), tuple(changed.items())))


def other_branch(at: EditPosition) -> Iterator[int]:
    """Yield swapped or single branches of a condition, and inverted masks."""
    if is_op(at.node, "where") and len(at.children) == 3:
        condition, one, other = at.children
        yield at.pool.add_node(at.node, (condition, other, one))
        for value in (0, 1):
            yield at.pool.add_node(at.node, (condition, one, at.pool.literal(value)))
            yield at.pool.add_node(at.node, (condition, at.pool.literal(value), other))
    array = at.pool.array(at.part)
    if array is not None and array.dtype.kind == "b":
        yield at.pool.call("logical_not", at.part)


def not_normalized(at: EditPosition) -> Iterator[int]:
    """Yield an unnormalized `softmax`, or one with a sigmoid's derivative."""
    if is_op(at.node, "softmax"):
        call, powers = at.pool.call, at.pool.call("exp", at.children[0])
        yield powers
        yield call("div", powers, call("sum", powers))
        yield call("mul", at.part, call("sub", at.pool.literal(1), at.part))


def one_side(at: EditPosition) -> Iterator[int]:
    """Yield `clamp` without one of its bounds."""
    if is_op(at.node, "clamp", "clip", "hardtanh") and len(at.children) == 3:
        x, low, high = at.children
        yield at.pool.call("maximum", x, low)
        yield at.pool.call("minimum", x, high)


def single_term(at: EditPosition) -> Iterator[int]:
    """Yield the first or last term in place of a sum or mean."""
    if is_op(at.node, "sum", "mean") and at.children and (whole := at.pool.array(at.children[0])) is not None:
        for dim in range(whole.ndim):
            for place in (0, -1):
                yield at.pool.call("select", at.children[0], at.pool.literal(dim), at.pool.literal(place))


def another_operator(at: EditPosition) -> Iterator[int]:
    """Yield `+` for `*`, `/` for `*`."""
    if is_op(at.node, *_OPERATORS) and len(at.children) == 2:
        yield from (at.pool.call(op, *at.children) for op in _OPERATORS if not is_op(at.node, op))


def misplaced_parenthesis(at: EditPosition) -> Iterator[int]:
    """Yield `a * b + c` for `a * (b + c)`."""
    if not is_op(at.node, "mul") or len(at.children) != 2:
        return
    call = at.pool.call
    for product, total in (at.children, at.children[::-1]):
        op = next((op for op in ("add", "sub") if is_op(at.pool.exprs[total], op)), "")
        if not op:
            continue
        one, other = at.pool.children[total]
        is_nested = is_op(at.pool.exprs[product], "mul") and len(at.pool.children[product]) == 2
        pairs = at.pool.children[product] if is_nested else ()
        for factor, rest in ((product, None), *zip(pairs, pairs[::-1], strict=True)):
            for terms in ((call("mul", factor, one), other), (one, call("mul", factor, other))):
                yield call(op, *terms) if rest is None else call("mul", rest, call(op, *terms))


def a_part_alone(at: EditPosition) -> Iterator[int]:
    """Yield a part with the shape of the whole."""
    array = at.pool.array(at.part)
    if array is not None and array.ndim:
        for part in dict.fromkeys(part for path, part, _ in at.pool.positions(at.part) if path):
            inner = at.pool.array(part)
            if inner is not None and inner.shape == array.shape:
                yield part


def another_number(at: EditPosition) -> Iterator[int]:
    """Yield factors of a derivative, forgotten or doubled."""
    value = at.node.value if isinstance(at.node, Literal) else None
    if isinstance(value, float) and at.parent is not None and is_op(at.parent, "mul", "div"):
        for factor in (2, 3, 4):
            yield at.pool.literal(value / factor)
            yield at.pool.literal(value * factor)


def moved_numbers(at: EditPosition) -> Iterator[int]:
    """Yield integers in another order, or moved by one or to each other."""
    if not isinstance(at.node, ListOfExprs) or not 2 <= len(at.children) <= 6:
        return
    numbers = [at.pool.value(part) for part in at.children]
    if not all(type(number) is int for number in numbers):
        return
    for i, j in combinations(range(len(numbers)), 2):
        a, b = numbers[i], numbers[j]
        for one, other in ((b, a), (a + 1, b - 1), (a - 1, b + 1), (a + b, 0), (0, a + b), (a, 0), (0, b)):
            changed = [at.pool.literal(number) for number in numbers]
            changed[i], changed[j] = at.pool.literal(one), at.pool.literal(other)
            yield at.pool.add_node(at.node, tuple(changed))


FORMULA_MISTAKES: tuple[FormulaMistake, ...] = (
    similar_function,
    another_option,
    other_branch,
    not_normalized,
    one_side,
    single_term,
    another_operator,
    misplaced_parenthesis,
    a_part_alone,
    another_number,
    moved_numbers,
)


def with_one_mistake(
    pool: ExpressionPool, operands: Operands, root: int, written: Sequence[float] = ()
) -> Iterator[int]:
    """Yield formulas with one mistake, or a number of `written`."""
    places = list(pool.positions(root))
    for path, part, parent in places:
        at = EditPosition(pool, operands, part, None if parent < 0 else pool.exprs[parent])
        if isinstance(at.node, Literal) and isinstance(at.node.value, (int, float)):
            yield from (pool.replace(root, path, pool.literal(number)) for number in written[:_MOST_WRITTEN])
        for mistake in FORMULA_MISTAKES:
            for other in mistake(at):
                yield pool.replace(root, path, other)
                yield pool.replace_everywhere(root, {part: other})
    tensors = dict.fromkeys(part for _, part, _ in places if isinstance(pool.exprs[part], (Name, Gradient)))
    for one in tensors:
        yield pool.replace_everywhere(root, {one: pool.call("neg", one)})
    for one, other in combinations(tensors, 2):
        yield pool.replace_everywhere(root, {one: other, other: one})
        yield pool.replace_everywhere(root, {one: other})
        yield pool.replace_everywhere(root, {other: one})
    for op in dict.fromkeys(node.op for node in pool.exprs[root].walk() if isinstance(node, Call)):
        yield _without_op(pool, root, op)
    counted = [part for _, part, _ in places]
    for part in dict.fromkeys(part for part in counted if counted.count(part) > 1):
        parent = next(parent for _, same, parent in places if same == part)
        at = EditPosition(pool, operands, part, pool.exprs[parent])
        for edit, _ in EDITS:
            yield from (pool.replace_everywhere(root, {part: other}) for other in edit(at))


def _without_op(pool: ExpressionPool, root: int, op: str) -> int:
    return pool.add(rewrite(pool.exprs[root], lambda node: node.children[0] if is_op(node, op) else node))
