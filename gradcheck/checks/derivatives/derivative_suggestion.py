"""Suggest parts of a derived Jacobian or Hessian for a wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice, product

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.derivatives.claimed_derivative import ClaimedDerivative
from gradcheck.checks.failures.correction.suggestion import MAX_DERIVED, did_you_mean
from gradcheck.checks.result import Diagnosis
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import fold, free_names, replace_part, substitute, with_children

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
