"""Derive a Jacobian or a Hessian as a formula, and suggest parts of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, islice, product

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.derivation import explain
from gradcheck.checks.derivatives.claimed_derivative import ClaimedDerivative
from gradcheck.checks.failures.correction.suggestion import MAX_DERIVED, did_you_mean
from gradcheck.checks.result import Diagnosis
from gradcheck.checks.scope import Scope
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.facts import fact
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.nodes import Attribute, Call, Derivative, Expr, Gradient, Literal, Name, Sequence
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.terms import signed_terms, total_of
from gradcheck.language.expr.traverse import fold, free_names, replace_part, rewrite, substitute, with_children
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.linear_maps import matrix_of

#: The name of the gradient that is differentiated again, in the graph.
_FIRST = "first_gradient_"
#: Terms below this part of the largest are 0 but for rounding.
_NOTHING = 1e-12


def derived_formula(case: Case, term: Derivative, seed: int | None) -> Expr:
    """Return the formula of a derivative. Raises GradcheckError."""
    bare, root, rows, by = case.without_claims(), term.tensors[0], term.tensors[-2], term.tensors[-1]
    if term.kind == "hessian":
        rows = term.tensors[1]
        step = Step("backward", roots={root: None})
        first = _gradient(replace(bare, steps=(step,)), rows, seed)
        bare, root = replace(bare, graph={**bare.graph, _FIRST: Claim.of(first)}), _FIRST
    elif root == by:
        rows = root
    problem = draw(
        replace(bare, steps=(Step("backward", roots={root: Value(expr=parse(f"randn_like({root})"))}),)), seed
    )
    evaluation = Core().evaluate(problem)
    if not evaluation.states:
        raise Unsupported(f"the graph cannot be evaluated: {evaluation.error}")
    scope = Scope(problem, evaluation.states[-1])

    def shape_of(expr: Expr) -> tuple[int, ...]:
        return tuple(getattr(scope.value_of(expr), "shape", ()))

    if root == by:
        formula: Expr = Gradient(root)
    elif scope.state.gradients.get(by) is None:
        words = {size: Name(word) for word, size in reversed(list(problem.sizes.items()))}
        sizes = (*shape_of(parse(rows)), *shape_of(parse(by)))
        return Call("zeros", tuple(words.get(size, Literal(size)) for size in sizes)) if sizes else Literal(0)
    else:
        formula = _gradient(problem.case, by, seed)
    found = _without_zeros(matrix_of(formula, root, by, shape_of, problem.sizes.values()), scope)
    return _with_names_of_case(found, root, rows, problem, scope)


def _gradient(case: Case, tensor: str, seed: int | None) -> Expr:
    """Return a gradient as a closed formula. Raises Unsupported."""
    found = explain(case, seed, expand=True)
    known = {name: Gradient(name) for name in found.incoming} | found.without_steps()
    if tensor not in known:
        raise Unsupported(f"the gradient of {tensor} is not derived")
    return known[tensor]


def _without_zeros(total: Expr, scope: Scope) -> Expr:
    """Return a sum without the terms that are 0."""
    terms = [(term, sign, np.max(np.abs(scope.value_of(term)), initial=0.0)) for term, sign in signed_terms(total)]
    kept = [(term, sign) for term, sign, size in terms if size > _NOTHING * max(size for *_, size in terms)]
    return total_of(kept) if 0 < len(kept) < len(terms) else total


def _with_names_of_case(expr: Expr, root: str, rows: str, problem: Problem, scope: Scope) -> Expr:
    """Return the expression in names of the case alone.

    A word such as `n` stands for a size that no other has, and what the first gradient is for its name."""
    listed = list(problem.sizes.values())
    words = {size: Name(word) for word, size in problem.sizes.items() if listed.count(size) == 1}

    def change(node: Expr) -> Expr:
        if isinstance(node, Gradient) and node.name == root:
            return parse(rows)
        is_size = isinstance(node, Call) and node.op == "getitem" and isinstance(node.args[0], Attribute)
        is_size = is_size or (isinstance(node, Attribute) and node.name == "numel")
        return words.get(scope.value_of(node), node) if is_size and words else node

    written = {_FIRST: problem.case.graph[_FIRST].expr} if _FIRST in problem.case.graph else {}
    return rewrite(substitute(expr, written), change)


#: The most parts of either formula, the most exchanges of one for another, and the most elements that all of these
#: compute.
_MOST_PARTS, _MOST_TRIED, _MOST_ELEMENTS = 40, 500, 30_000_000
#: The largest derived formula of which parts are tried, in parts.
_MOST_SEARCHED = 400
#: Ops of a list of entries, or of rows.
_OF_ENTRIES = ("tensor", "stack")
#: The largest derivative, in entries, of which exchanges are tried.
_MOST_ENTRIES = 2_500


def suggestion(points: list[ClaimedDerivative]) -> Diagnosis | None:
    """Return the claim with one part exchanged, or the derived formula.

    Either holds at all of the points. None if nothing is derived that does, or if it is long."""
    first = points[0]
    claim, derived = first.stated.claim, _derived(points)
    for mended in chain(_own_exchanges(claim.expr, first), _exchanges(claim.expr, derived, first) if derived else ()):
        if all(_holds(mended, one) for one in points):
            return did_you_mean(claim.text, to_text(mended), fact("suggestion_holds", points=len(points)))
    text = to_text(derived) if derived else ""
    if not 0 < len(text) <= MAX_DERIVED:
        return None
    return Diagnosis("derived", fact("derivative_derived", formula=text), formula=text)


def _derived(points: list[ClaimedDerivative]) -> Expr | None:
    """Return the derived formula, if it holds and is no long one."""
    try:
        derived = points[0].derive()
    except GradcheckError:
        return None
    return derived if _size(derived) <= _MOST_SEARCHED and all(_holds(derived, one) for one in points) else None


def _own_exchanges(claim: Expr, one: ClaimedDerivative) -> Iterator[Expr]:
    """Yield the claim with another name, or with two parts swapped."""
    if one.want.size > _MOST_ENTRIES:
        return
    names = [Name(name) for name in (*one.point.problem.case.let, *one.point.want.states[-1].values) if "[" not in name]
    shapes = {name: getattr(value_at(name, one), "shape", None) for name in (*names, *map(Name, free_names(claim)))}
    for used in free_names(claim):
        alike = [name for name in names if name.name != used and shapes[name] == shapes[Name(used)]]
        yield from (substitute(claim, {used: name}) for name in alike[:_MOST_PARTS])
    parts = sorted((part for part in _parts(claim) if isinstance(part, (Call, Name, Literal))), key=_size)
    shaped = [(part, value.shape) for part in parts if (value := value_at(part, one)) is not None]
    for (left, shape), (right, other) in islice(combinations(shaped, 2), _MOST_TRIED):
        if shape == other and left != right and not {*map(id, left.walk())} & {*map(id, right.walk())}:
            yield fold(claim, with_children, {id(left): (left, right), id(right): (right, left)})


def _holds(formula: Expr, one: ClaimedDerivative) -> bool:
    got = value_at(formula, one)
    return got is not None and got.shape == one.want.shape and np.isfinite(got).all() and one.is_alike(got, one.want)


def _exchanges(claim: Expr, derived: Expr, one: ClaimedDerivative) -> Iterator[Expr]:
    """Yield the claim with an entry or a part exchanged, small parts first."""
    if one.want.size > _MOST_ENTRIES:
        return
    yield from _with_right_entries(claim, derived, one)
    texts = {to_text(part): part for part in _parts(derived) if not isinstance(part, Literal)}
    offered = {text: (part, value_at(part, one)) for text, part in texts.items() if len(text) <= MAX_DERIVED}
    given = [
        (part, value_at(part, one)) for part in _parts(claim) if part is not claim and not isinstance(part, Sequence)
    ]
    work = sum(value.size for _, value in given if value is not None) + one.want.size
    pairs = sorted(product(given, offered.values()), key=lambda pair: _size(pair[0][0]) + _size(pair[1][0]))
    fitting = (
        (old, new)
        for (old, before), (new, after) in pairs
        if before is not None
        and after is not None
        and new != old
        and (before.shape == after.shape or (isinstance(old, Name) and isinstance(new, Name)))
    )
    for old, new in islice(fitting, min(_MOST_TRIED, _MOST_ELEMENTS // max(work, 1))):
        yield replace_part(claim, old, new)


def _with_right_entries(claim: Expr, derived: Expr, one: ClaimedDerivative) -> Iterator[Expr]:
    """Yield a written out claim with its wrong entries exchanged."""
    known, right = dict(_entries(claim)), dict(_entries(derived))
    if len(known) < 2 or known.keys() != right.keys():
        return
    for place, old in known.items():
        before, after = value_at(old, one), value_at(right[place], one)
        if before is None or after is None or not one.is_alike(before, after):
            new = right[place]
            is_stacked = isinstance(claim, Call) and claim.op == "stack" and isinstance(new, Literal)
            claim = replace_part(claim, old, Call("tensor", (new,)) if is_stacked else new)
    yield claim


def _entries(expr: Expr, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Expr]]:
    """Yield the entries of a tensor that is written out, with their places."""
    if isinstance(expr, Call) and expr.op in _OF_ENTRIES and not expr.kwargs and len(expr.args) == 1:
        yield from _entries(expr.args[0], place)
    elif isinstance(expr, Sequence):
        for index, part in enumerate(expr.children):
            yield from _entries(part, (*place, index))
    else:
        yield place, expr


def _parts(expr: Expr) -> list[Expr]:
    return list(islice(expr.walk(), _MOST_PARTS))


def _size(expr: Expr) -> int:
    return sum(1 for _ in expr.walk())


def value_at(part: Expr, one: ClaimedDerivative) -> np.ndarray | None:
    """Return the value of an expression at a point, if it has one."""
    try:
        return wide(one.point.scope(one.point.last_step).array_of(part))
    except (GradcheckError, ValueError):
        return None
