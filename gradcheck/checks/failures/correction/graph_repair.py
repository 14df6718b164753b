"""Repairs of a graph that cannot be computed: one edit that makes it so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.checks.failures.correction.edit_position import EditPosition, Operands
from gradcheck.checks.failures.correction.expression_pool import BROKEN, ExpressionPool, is_op
from gradcheck.checks.failures.correction.shape_edits import EDITS
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

#: The most edits that are evaluated, the most that are verified, and the other sizes for that.
MAX_EDITS, MOST_VERIFIED, TRIALS = 2_000, 8, 3
#: The most edits with which the graph is computed, the most entries, and the most numbers for that.
_MOST_REACHED, _ENTRIES, _LARGE = 60, 6, 1_000_000
#: The most parts of a searched entry.
MAX_PARTS = 120
#: The further cost of an edit away from the failing part, or in an earlier entry.
_ELSEWHERE, _ABOVE = 0.5, 1.5
#: The saving if an edit names an unused tensor.
_FORGOTTEN = 0.7
#: The costs of a leaf's sizes exchanged, or changed.
_TURNED_LEAF, _OTHER_LEAF = 1.15, 1.3
_CREATORS = {"randn": 0, "rand": 0, "zeros": 0, "ones": 0, "uniform": 2, "randint": 2}
#: The most sizes of a leaf, and the most other sizes tried.
_MOST_SIZES, _MOST_OTHERS = 4, 24
NOTHING = Operands((), (), (), is_complete=True)


@dataclass(frozen=True, slots=True)
class GraphRepair:
    """A repaired entry or leaf, its cost, and how many entries it computes."""

    name: str
    claim: Claim
    cost: float
    reach: int


def find_graph_repair(problem: Problem, entry: str, failing: Expr) -> GraphRepair | None:
    """Return the edit with which the graph can be computed, None for none.

    `failing` is the part of `entry` that fails. Of the edits that reach furthest, the cheapest ones are compared at
    other sizes.
    """
    case = problem.case
    names = list(case.graph)
    found: list[GraphRepair] = []
    is_large = sum(array.size for array in (*problem.inputs.values(), *problem.constants.values())) > _LARGE
    for name in names[names.index(entry) :: -1][: 1 if is_large else _ENTRIES]:
        found += _entry_repairs(problem, name, failing if name == entry else None)
        if found and name != entry:
            break
    if not is_large and is_op(failing, "matmul", "mm", "bmm", "mv", "add", "sub", "mul", "div", "linear"):
        found += _leaf_repairs(problem, failing)
    reached = max((one.reach for one in found), default=0)
    found = [one for one in found if one.reach == reached > names.index(entry)]
    found.sort(key=lambda one: (one.cost, len(one.claim.text)))
    ranked = [(-_count_other_sizes(case, one), place) for place, one in enumerate(found[:MOST_VERIFIED])]
    return found[min(ranked)[1]] if ranked else None


def _entry_repairs(problem: Problem, entry: str, failing: Expr | None) -> Iterator[GraphRepair]:
    case = problem.case
    pool = ExpressionPool(_names_above(problem, entry), {})
    root = pool.add(case.graph[entry].expr)
    if sum(1 for _ in case.graph[entry].expr.walk()) > MAX_PARTS:
        return
    broken = None if failing is None else pool.add(failing)
    tried, known = {root}, {name for claim in case.graph.values() for name in free_names(claim.expr)}
    reached = 0
    for path, part, parent in pool.positions(root):
        at = EditPosition(pool, NOTHING, part, None if parent < 0 else pool.exprs[parent])
        near = broken is not None and broken in (part, parent)
        far = 0.0 if near else _ABOVE if failing is None else _ELSEWHERE
        for edit, cost in EDITS:
            for other in edit(at):
                whole = pool.replace(root, path, other)
                if whole in tried or len(tried) > MAX_EDITS:
                    continue
                tried.add(whole)
                if pool.value(whole) is not BROKEN and reached < _MOST_REACHED:
                    reached += 1
                    claim = Claim.of(pool.exprs[whole])
                    forgotten = _FORGOTTEN * (not known.issuperset(free_names(claim.expr)))
                    reach = _count_computable(_case_with(case, entry, claim), problem.environment())
                    yield GraphRepair(entry, claim, cost + far - forgotten, reach)


def _leaf_repairs(problem: Problem, failing: Expr) -> Iterator[GraphRepair]:
    """Yield other sizes of leaves in the failing part: exchanged, or renamed."""
    case = problem.case
    leaves = {**case.inputs, **case.constants}
    written = [value.expr for value in leaves.values() if value.expr is not None]
    known = dict.fromkeys(size for expr in written for size in _sizes(expr))
    for name in free_names(failing):
        made = leaves[name].expr if name in leaves else None
        sizes = _sizes(made) if made is not None else ()
        if made is None or not 0 < len(sizes) <= _MOST_SIZES:
            continue
        turned = (sizes[::-1],) if len(sizes) == 2 else ()
        others = tuple((*sizes[:i], size, *sizes[i + 1 :]) for i in range(len(sizes)) for size in known)
        for number, other in enumerate((*turned, *others[:_MOST_OTHERS])):
            claim = Claim.of(_with_sizes(made, other))
            try:
                drawn = draw(_case_with(case, name, claim))
            except GradcheckError:
                continue
            if other != sizes and _count_computable(case, drawn.environment()) > len(case.graph):
                repeated = len(set(other)) < len(set(sizes))
                swapped = turned and not number and is_op(failing, "matmul", "mm", "bmm", "linear")
                cost = _TURNED_LEAF if swapped else _OTHER_LEAF + 0.5 * (repeated or bool(turned and not number))
                yield GraphRepair(name, claim, cost, len(case.graph) + 1)


def _sizes(expr: Expr) -> tuple[Expr, ...]:
    """Return the sizes of a creator's call, in a list or not."""
    if not is_op(expr, *_CREATORS):
        return ()
    args = expr.children[_CREATORS[expr.op] :] if isinstance(expr, Call) else ()
    listed = args[0].children if len(args) == 1 and isinstance(args[0], Sequence) else args
    return tuple(part for part in listed if isinstance(part, (Name, Literal)))


def _with_sizes(expr: Expr, sizes: tuple[Expr, ...]) -> Expr:
    assert isinstance(expr, Call)
    start = _CREATORS[expr.op]
    args = expr.args[start:]
    new = (args[0].rebuild(sizes),) if len(args) == 1 and isinstance(args[0], Sequence) else sizes
    return replace(expr, args=(*expr.args[:start], *new))


def _names_above(problem: Problem, entry: str) -> dict[str, Any]:
    names = problem.environment()
    for name, claim in problem.case.graph.items():
        if name == entry:
            break
        names[name] = evaluate(claim.expr, names)
    return names


def _case_with(case: Case, entry: str, claim: Claim) -> Case:
    if entry in case.graph:
        return replace(case, graph={**case.graph, entry: claim})
    if entry in case.inputs:
        return replace(case, inputs={**case.inputs, entry: replace(case.inputs[entry], expr=claim.expr)})
    return replace(case, constants={**case.constants, entry: replace(case.constants[entry], expr=claim.expr)})


def _count_computable(case: Case, names: Mapping[str, Any]) -> int:
    """Count computable entries, and one more if passes begin and formulas fit."""
    values = dict(names)
    try:
        for name, claim in case.graph.items():
            values[name] = evaluate(claim.expr, values)
    except GradcheckError:
        return len(values) - len(names)
    roots = [root for step in case.steps for root, seed in step.roots.items() if seed is None and not step.raises]
    begins = all(_is_one_number(values[root]) for root in roots if root in values)
    return len(case.graph) + (begins and _shapes_fit(case, values))


def _shapes_fit(case: Case, values: Mapping[str, Any]) -> bool:
    for name, claims in case.formulas.items():
        for claim in claims if isinstance(values.get(name), np.ndarray) else ():
            try:
                got = evaluate(claim.expr, values, gradients=values)
            except (GradcheckError, KeyError):
                continue
            if isinstance(got, (tuple, list)) or np.shape(got) != values[name].shape:
                return False
    return True


def _is_one_number(value: Any) -> bool:
    return not isinstance(value, (tuple, list)) and np.size(value) == 1


def _count_other_sizes(case: Case, meant: GraphRepair) -> int:
    changed = _case_with(case, meant.name, meant.claim)
    held = 0
    for trial in range(TRIALS):
        try:
            other = draw(changed, trial=trial)
        except (GradcheckError, MemoryError):
            continue
        held += _count_computable(changed, other.environment()) >= meant.reach
    return held
