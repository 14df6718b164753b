"""Excuse formulas that are NaN where the graph is defined, but else right.

Such a formula passes with a note on where it is undefined. It fails if it is wrong where it is defined, not finite at
numbers that the author wrote down, defined nowhere at the case's own numbers, or nowhere else, not even close by. A
formula with a step that overflows, while the graph does not, is unstable rather than wrong, and treated the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.element_conditions import element_condition
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.closeness.overflow import overflowed_elements
from gradcheck.checks.context import Context
from gradcheck.checks.points.drawing import scaled_problem
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.random_streams import RANDOM_OPS
from gradcheck.language.sampling import leaves_in_file_order


def applies(context: Context) -> bool:
    """Return whether a formula failed by NaN or overflow alone."""
    return any(_is_undefined_or_unstable(context, c) for c in context.found)


def check(context: Context) -> Iterable[Comparison]:
    """Pass formulas that fail by NaN or overflow and are right elsewhere."""
    for key in dict.fromkeys(claim_key(c) for c in context.found if _is_undefined_or_unstable(context, c)):
        listed = [c for c in context.found if claim_key(c) == key]
        written = [c for c in listed if _is_at_written_numbers(context, c)]
        if written:
            _fail_with_region(context, written, listed)
            continue
        is_excusable = all(not c.is_failing or _is_undefined_or_unstable(context, c) for c in listed)
        if is_excusable and _is_defined_here_and_nearby(context, listed):
            _pass_with_note(context, key, listed)
    return ()


#: How far nearby numbers are, relative to the case's: within most domains.
_NEARBY = 1e-3
#: The kind of claim, the tensor and the text.
_Key = tuple[ClaimKind, str, str]


def claim_key(c: Comparison) -> _Key:
    return c.what, c.tensor, c.formula


def _is_undefined_or_unstable(context: Context, c: Comparison) -> bool:
    """Return whether a claim fails by NaN, overflow or a domain only."""
    if not c.is_failing or c.what not in (ClaimKind.FORMULA, ClaimKind.CHECK):
        return False
    return is_undefined(c) or (c.what is ClaimKind.FORMULA and is_unstable(context, c))


def _is_at_written_numbers(context: Context, c: Comparison) -> bool:
    """Return whether it is not finite at numbers that the author wrote down."""
    differ = _differing_elements(c) if c.trial is None and c.is_failing and c.what is ClaimKind.FORMULA else None
    return (
        differ is not None and not np.isfinite(differ[0]).all() and _is_written_out(context.case, _claim_of(context, c))
    )


def _is_written_out(case: Case, claim: Claim) -> bool:
    """Return whether no value that the formula is made of is drawn."""
    leaves = {name: value.expr for name, value in leaves_in_file_order(case)}
    made = leaves | {name: step.expr for name, step in (*case.graph.items(), *case.let.items())}
    needed = set(free_names(claim.expr))
    for name, expr in reversed(made.items()):
        if name in needed and expr is not None:
            needed.update(free_names(expr))
    drawn = (name for name, expr in leaves.items() if expr is not None and not RANDOM_OPS.isdisjoint(ops_in(expr)))
    return needed.isdisjoint(drawn)


def is_undefined(c: Comparison) -> bool:
    """Return whether it differs by NaN only, or raises a domain error."""
    if c.mismatch is not None and c.mismatch.kind == "claim_raised":
        return c.trial is not None and c.mismatch["error"] == "domain_error"
    differ = _differing_elements(c)
    return differ is not None and bool(np.isnan(differ[0]).all())


def is_unstable(context: Context, c: Comparison) -> bool:
    """Return whether a formula differs only where it is NaN or overflows."""
    differ = _differing_elements(c)
    if differ is None or c.mask is None:
        return False
    point = context.points.at(c.trial)
    beyond = overflowed_elements(point.scope(c.step), _claim_of(context, c).expr)
    return beyond is not None and beyond.shape == c.mask.shape and bool(beyond[c.mask].all())


def _differing_elements(c: Comparison) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the differing elements of both sides; None if not finite."""
    if c.mask is None or c.got_array is None or c.want_array is None or c.got_array.shape != c.want_array.shape:
        return None
    got, want = wide(c.got_array)[c.mask], wide(c.want_array)[c.mask]
    return (got, want) if np.isfinite(want).all() else None


def _is_defined_here_and_nearby(context: Context, listed: Sequence[Comparison]) -> bool:
    own = [c for c in listed if c.trial is None]
    is_general = len(own) < len(listed) and own[0].what is ClaimKind.FORMULA
    return any(map(_is_defined, own)) and (not is_general or _is_defined_nearby(context, own[0]))


def _is_defined(c: Comparison) -> bool:
    return not c.is_failing or c.mismatched < c.elements


def _is_defined_nearby(context: Context, own: Comparison) -> bool:
    """Return whether a formula has numbers within a thousandth of the case's."""
    problem = scaled_problem(context.points.own.problem, 1, 1 - _NEARBY, 1 + _NEARBY)
    near = StepClaims(Point(problem, context.engines), own.step, context.options.tolerance)
    return _is_defined(check_formula(near, own.tensor, _claim_of(context, own)))


def _claim_of(context: Context, c: Comparison) -> Claim:
    return next(claim for claim in context.case.formulas[c.tensor] if claim.text == c.formula)


def _pass_with_note(context: Context, key: _Key, listed: Sequence[Comparison]) -> None:
    undefined = [c for c in listed if c.is_failing]
    is_check = key[0] is ClaimKind.CHECK
    note = fact("check_undefined", points=len(undefined)) if is_check else _undefined_region(context, undefined, listed)

    def change(c: Comparison) -> Comparison:
        kept = c.subject.passed(shape=c.shape, dtype=c.dtype, elements=c.elements) if c.is_failing else c
        return kept.with_notes(note) if c.trial is None else kept

    context.amend(lambda c: claim_key(c) == key, change)


def _fail_with_region(context: Context, written: Sequence[Comparison], listed: Sequence[Comparison]) -> None:
    region = _undefined_region(context, written, listed)
    context.amend(lambda c: any(c is one for one in written), lambda c: replace(c, status="failed", mismatch=region))


def _undefined_region(context: Context, undefined: Sequence[Comparison], listed: Sequence[Comparison]) -> Fact:
    shown = next((c for c in undefined if c.trial is None), undefined[0])
    points = [(context.points.at(c.trial), _mask(c)) for c in undefined]
    passed = [(context.points.at(c.trial), None) for c in listed if c.status == "passed"]
    where = element_condition(list(_tensors_and_masks([*points, *passed], shown.tensor)))
    overflows = any(is_unstable(context, c) for c in undefined)
    return fact("undefined_at", count=shown.mismatched, elements=shown.elements, where=where, own=shown.trial is None,
                overflows=overflows)  # fmt: skip


def _mask(c: Comparison) -> np.ndarray:
    return np.ones(c.shape or (), dtype=bool) if c.mask is None else c.mask


def _tensors_and_masks(
    points: Iterable[tuple[Point, np.ndarray | None]], tensor: str
) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray]]:
    """Yield each point's tensors by name, and the undefined elements."""
    for point, mask in points:
        scope = point.scope(point.last_step)
        shape = scope.gradients[tensor].shape
        undefined = np.zeros(shape, dtype=bool) if mask is None else mask
        inputs = [name for name in point.problem.inputs if name != tensor]
        named = {n: scope[n] for n in (tensor, *inputs, *point.problem.case.graph) if n in scope}
        yield {n: wide(a) for n, a in named.items() if isinstance(a, np.ndarray) and a.dtype.kind in "fV"}, undefined
