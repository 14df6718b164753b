"""What a graph may have been meant to say that cannot be computed as it stands: one edit away, so that all of it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from gradcheck.checks.failures.correction.edits import Edit, confused, kept_dim, transposed
from gradcheck.checks.failures.correction.expression_pool import BROKEN, ExpressionPool, is_op
from gradcheck.checks.failures.correction.position import Operands, Position
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence, Slice
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

#: How many edits are evaluated, and how many that fit are verified elsewhere; at how many other sizes.
MOST, MOST_VERIFIED, TRIALS = 2_000, 8, 3
#: An entry of more parts is not searched.
MAX_PARTS = 120
#: How much less likely an edit is that is not where the graph breaks, or in an entry above.
_ELSEWHERE, _ABOVE = 0.5, 1.5
#: How much likelier one is that speaks of a tensor that nothing else does.
_FORGOTTEN = 0.7
#: And one of a leaf's sizes: the other way round, or another one.
_TURNED_LEAF, _OTHER_LEAF = 1.15, 1.3
_CREATORS = {"randn": 0, "rand": 0, "zeros": 0, "ones": 0, "uniform": 2, "randint": 2}
#: How many sizes such a leaf has, and how many others are tried.
_MOST_SIZES, _MOST_OTHERS = 4, 24
_NOTHING = Operands((), (), (), all=True)
_PRODUCTS = ("dot", "mv", "mm", "bmm", "inner")
#: How alike the names of two tensors are that may be taken for each other.
_ALIKE = 0.5


def listed(at: Position) -> Iterator[int]:
    """`cat([x, y])` for `cat(x, y)`."""
    node = at.node
    if is_op(node, "cat", "stack", "hstack", "vstack", "dstack", "column_stack") and len(at.below) > 1:
        assert isinstance(node, Call)
        yield at.pool.add(Call(node.op, (Sequence(node.args),), node.kwargs))


def as_matmul(at: Position) -> Iterator[int]:
    """`x @ y` for `dot(x, y)`."""
    if is_op(at.node, *_PRODUCTS) and len(at.below) == 2:
        yield at.pool.call("matmul", *at.below)


def arguments_swapped(at: Position) -> Iterator[int]:
    """The first two arguments of a function the other way round."""
    node = at.node
    if isinstance(node, Call) and len(node.args) > 1 and not is_op(node, "getitem", "add", "sub", "mul", "div"):
        first, second, *rest = at.below
        yield at.pool.like(node, (second, first, *rest))


def as_column(at: Position) -> Iterator[int]:
    """`b[:, None]` for `b`, beside a matrix."""
    if at.ndim != 1 or at.parent is None or not is_op(at.parent, "add", "sub", "mul", "div"):
        return
    beside = [at.pool.array(at.pool.add(child)) for child in at.parent.children]
    if any(array is not None and array.ndim > 1 for array in beside):
        index = Sequence((Slice(), Literal(None)), is_tuple=True)
        yield at.pool.add(Call("getitem", (at.node, index)))


def similar_name(at: Position) -> Iterator[int]:
    """Another tensor, whose name is nearly the same: `W1` for `W2`."""
    node = at.node
    if isinstance(node, Name):
        for name, value in at.pool.names.items():
            alike = SequenceMatcher(None, node.name, name).ratio() >= _ALIKE
            if name != node.name and alike and isinstance(value, np.ndarray):
                yield at.pool.add(Name(name))


def transposed_factor(at: Position) -> Iterator[int]:
    """A transpose added to a factor of a product of matrices, or taken away."""
    if at.parent is not None and is_op(at.parent, "matmul", "mm", "bmm", "mv"):
        yield from transposed(at)


def turned(at: Position) -> Iterator[int]:
    """`y @ x` for `x @ y`."""
    if is_op(at.node, "matmul", "mm", "bmm", "mv"):
        yield at.pool.like(at.node, at.below[::-1])


def _between_products(at: Position) -> Iterator[int]:
    if is_op(at.node, "mul", "matmul"):
        yield from confused(at)


#: Each with how unlikely it is.
EDITS: tuple[tuple[Edit, float], ...] = (
    (listed, 1.0),
    (as_matmul, 1.0),
    (_between_products, 1.0),
    (turned, 1.0),
    (kept_dim, 1.0),
    (transposed_factor, 1.1),
    (arguments_swapped, 1.2),
    (similar_name, 1.4),
    (as_column, 1.6),
    (transposed, 3.0),
)


def nearest_computable(problem: Problem, entry: str, refused: Expr) -> tuple[str, Claim] | None:
    """The entry of the graph that one edit changes so that all of it can be computed, and what it then says; None where
    no edit does. The graph breaks at `refused`, in `entry`.

    What fits at the case's own numbers is tried at other sizes, where it has any; what fits there, too, comes first, and
    then what leaves the case's formulas their tensors' shapes.
    """
    case = problem.case
    found: list[tuple[float, str, Claim]] = []
    names = list(case.graph)
    for name in reversed(names[: names.index(entry) + 1]):
        found += _fitting(problem, name, refused if name == entry else None)
        if found and name != entry:
            break
    if is_op(refused, "matmul", "mm", "bmm", "mv", "add", "sub", "mul", "div", "linear"):
        found += _leaf_edits(problem, refused)
    found.sort(key=lambda one: (one[0], len(one[2].text)))
    ranked = [(_elsewhere(case, name, claim), cost, name, claim) for cost, name, claim in found[:MOST_VERIFIED]]
    if not ranked:
        return None
    _, _, name, claim = min(ranked, key=lambda one: (-one[0], one[1]))
    return name, claim


def _fitting(problem: Problem, entry: str, refused: Expr | None) -> Iterator[tuple[float, str, Claim]]:
    """Edits of one entry with which the whole graph can be computed, and how unlikely each is."""
    case = problem.case
    pool = ExpressionPool(_names_above(problem, entry), {})
    root = pool.add(case.graph[entry].expr)
    if sum(1 for _ in case.graph[entry].expr.walk()) > MAX_PARTS:
        return
    broken = None if refused is None else pool.add(refused)
    tried = {root}
    for path, part, parent in pool.positions(root):
        at = Position(pool, _NOTHING, part, None if parent < 0 else pool.exprs[parent])
        near = broken is not None and broken in (part, parent)
        far = 0.0 if near else _ABOVE if refused is None else _ELSEWHERE
        for edit, cost in EDITS:
            for other in edit(at):
                whole = pool.replace(root, path, other)
                if whole in tried or len(tried) > MOST:
                    continue
                tried.add(whole)
                if pool.value(whole) is not BROKEN:
                    claim = Claim.of(pool.exprs[whole])
                    changed = _with(case, entry, claim)
                    if _computes(changed, problem.environment()):
                        yield cost + far - _FORGOTTEN * (_used(changed) > _used(case)), entry, claim


def _leaf_edits(problem: Problem, refused: Expr) -> Iterator[tuple[float, str, Claim]]:
    """Other sizes of an input or constant that the refused part speaks of, which a creator makes: two of them the other
    way round, or one of another name."""
    case = problem.case
    leaves = {**case.inputs, **case.constants}
    written = [value.expr for value in leaves.values() if value.expr is not None]
    known: dict[Expr, None] = {}
    for expr in written:
        known |= dict.fromkeys(part for part in _sizes(expr))
    for name in free_names(refused):
        expr = leaves[name].expr if name in leaves else None
        sizes = _sizes(expr) if expr is not None else ()
        if expr is None or len(sizes) > _MOST_SIZES:
            continue
        turned = (sizes[::-1],) if len(sizes) == 2 else ()
        others = tuple((*sizes[:i], size, *sizes[i + 1 :]) for i in range(len(sizes)) for size in known)
        for number, other in enumerate((*turned, *others[:_MOST_OTHERS])):
            claim = Claim.of(_with_sizes(expr, other))
            try:
                drawn = draw(_with(case, name, claim))
            except GradcheckError:
                continue
            if other != sizes and _computes(case, drawn.environment()):
                repeated = len(set(other)) < len(set(sizes))
                cost = _TURNED_LEAF if turned and not number else _OTHER_LEAF + 0.5 * repeated
                yield cost, name, claim


def _sizes(expr: Expr) -> tuple[Expr, ...]:
    """The sizes of a creator's call, written one by one or in a list."""
    if not is_op(expr, *_CREATORS):
        return ()
    args = expr.children[_CREATORS[expr.op] :] if isinstance(expr, Call) else ()
    listed = args[0].children if len(args) == 1 and isinstance(args[0], Sequence) else args
    return tuple(part for part in listed if isinstance(part, Name) or isinstance(part, Literal))


def _with_sizes(expr: Expr, sizes: tuple[Expr, ...]) -> Expr:
    assert isinstance(expr, Call)
    start = _CREATORS[expr.op]
    args = expr.args[start:]
    new = (args[0].over(sizes),) if len(args) == 1 and isinstance(args[0], Sequence) else sizes
    return replace(expr, args=(*expr.args[:start], *new))


def _names_above(problem: Problem, entry: str) -> dict[str, Any]:
    """What may be named in an entry, as far as it can be computed."""
    names = problem.environment()
    for name, claim in problem.case.graph.items():
        if name == entry:
            break
        names[name] = evaluate(claim.expr, names)
    return names


def _used(case: Case) -> set[str]:
    """The names that the graph speaks of."""
    return {name for claim in case.graph.values() for name in free_names(claim.expr)}


def _with(case: Case, entry: str, claim: Claim) -> Case:
    if entry in case.graph:
        return replace(case, graph={**case.graph, entry: claim})
    section = "inputs" if entry in case.inputs else "constants"
    values = getattr(case, section)
    return replace(case, **{section: {**values, entry: replace(values[entry], expr=claim.expr)}})


def _computes(case: Case, names: Mapping[str, Any]) -> bool:
    """Whether the whole graph can be computed, and a backward pass begin at its roots."""
    values = dict(names)
    try:
        for name, claim in case.graph.items():
            values[name] = evaluate(claim.expr, values)
    except GradcheckError:
        return False
    roots = [root for step in case.steps for root, seed in step.roots.items() if seed is None and not step.raises]
    return all(np.size(values[root]) == 1 for root in roots if root in values) and _shapes_fit(case, values)


def _shapes_fit(case: Case, values: Mapping[str, Any]) -> bool:
    """Whether the case's formulas, where they can be computed, have their tensors' shapes: a gradient has its own."""
    for name, claims in case.formulas.items():
        for claim in claims if isinstance(values.get(name), np.ndarray) else ():
            try:
                got = evaluate(claim.expr, values, gradients=values)
            except (GradcheckError, KeyError):
                continue
            if np.shape(got) != np.shape(values[name]):
                return False
    return True


def _elsewhere(case: Case, entry: str, claim: Claim) -> int:
    """At how many other sizes the graph can be computed with this edit."""
    changed = _with(case, entry, claim)
    held = 0
    for trial in range(TRIALS):
        try:
            other = draw(changed, trial=trial)
        except (GradcheckError, MemoryError):
            continue
        held += _computes(changed, other.environment())
    return held



def shown(expr: Expr, most: int = 40) -> str:
    """A part of an entry, short enough for a sentence."""
    text = to_text(expr)
    return text if len(text) <= most else f"{text[: most - 1]}…"
