"""Mistakes that a wrong Jacobian or Hessian shows by its numbers.

A mistake explains a claim if it gives the claimed numbers, which are not the right ones, at every point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice, product
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.context import Context
from gradcheck.checks.derivatives import entry_mistakes
from gradcheck.checks.derivatives.claimed_derivative import (
    MOST_ENTRIES,
    ClaimedDerivative,
    StatedDerivative,
    claimed_at,
)
from gradcheck.checks.derivatives.derivative_formula import derived_formula, suggestion, value_at
from gradcheck.checks.derivatives.entry_mistakes import Guess, common_mistake
from gradcheck.checks.failures.correction.edit_cause import edit_cause
from gradcheck.checks.failures.correction.suggestion import did_you_mean
from gradcheck.checks.points.drawing import GENERIC
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.implementation.binding import ancestors_of
from gradcheck.errors import GradcheckError, InvalidCase
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Call, Derivative, Expr, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.terms import at_most, negative, signed_terms
from gradcheck.language.expr.traverse import rewrite

#: The points at which a mistake must give the claimed numbers to be confirmed.
_CONFIRMS, _MOST_POINTS = 2, 3
#: The powers of a tensor by which a claim may be off.
_POWERS = (1, -1, 2, -2)
#: The most entries of the graph whose curvature an approximation may keep.
_MOST_INNER = 12
#: The most parts of the graph that are tried as a factor.
_MOST_PARTS = 40
#: Products that are multiplied out, if this gives no more terms.
_PRODUCTS, _MOST_TERMS = ("mul", "matmul", "outer", "div"), 8


def with_mistakes(context: Context, stated: StatedDerivative, failed: Comparison) -> Comparison:
    """Return the failure with the mistake that explains it, if one does."""
    has_better = any(one.confidence and one.kind != "path_dropped" for one in failed.diagnoses)
    if failed.status != "failed" or stated.what.is_stated_wrong or has_better:
        return failed
    why = failed.mismatch
    if why is not None and why.kind == "claim_raised" and why["error"] == "dtype_mismatch":
        return _with_floats(context.points.own, stated, failed)
    points = (context.points.own, context.points.unseen_point(GENERIC), *context.points.trials)
    derive = cache(partial(derived_formula, context.points.own.problem.case, stated.term, None))
    claimed = [claimed_at(point, stated, derive) for point in points[: _MOST_POINTS + 1] if point is not None]
    wrong = [one for one in claimed if one is not None and one.is_wrong]
    if not wrong:
        return failed
    known = common_mistake(wrong, _GUESSES if wrong[0].want.size else (entry_mistakes.orders,))
    if not any(one.kind == "did_you_mean" for one in failed.diagnoses):
        found = suggestion([one for one in claimed if one is not None])
        if found is not None and (known is None or found.kind == "did_you_mean"):
            failed = replace(failed, diagnoses=(*failed.diagnoses, found))
    if known is None:
        return _with_cause_of_edit(failed, wrong)
    kind, message = known
    cause = Diagnosis(kind, message, confidence="confirmed" if len(wrong) >= _CONFIRMS else "possible")
    return replace(failed, diagnoses=(cause, *(one for one in failed.diagnoses if not one.confidence)))


def _with_floats(point: Point, stated: StatedDerivative, failed: Comparison) -> Comparison:
    """Return the failure with the claim in floats, if integers alone break it."""
    scope, whole = point.scope(point.last_step), tuple[str, ...]()

    def change(node: Expr) -> Expr:
        nonlocal whole
        is_name = isinstance(node, Name) and node.name not in point.problem.sizes
        is_tensor = is_name or (isinstance(node, Call) and node.op == "tensor")
        if not is_tensor or scope.array_of(node).dtype.kind not in "iu":
            return node
        whole += (to_text(node),)
        return Call("mul", (Literal(1.0), node))

    try:
        mended = rewrite(stated.claim.expr, change)
    except (GradcheckError, ValueError):
        return failed
    found = [Diagnosis("dtype", fact("integers_in_claim", parts=whole), confidence="confirmed")] if whole else []
    claimed = claimed_at(point, stated._replace(claim=Claim.of(mended)), lambda: mended)
    if claimed is not None and not claimed.is_wrong:
        found.append(did_you_mean(stated.claim.text, to_text(mended), None))
    return replace(failed, diagnoses=(*found, *failed.diagnoses))


def _with_cause_of_edit(failed: Comparison, wrong: Sequence[ClaimedDerivative]) -> Comparison:
    """Return the failure with its correction as a cause, if it is one change."""
    meant = next((one.formula for one in failed.diagnoses if one.kind == "did_you_mean"), None)
    if meant is None or any(one.confidence for one in failed.diagnoses):
        return failed
    cause = edit_cause(parse(failed.formula), parse(meant), [one.point.scope(one.point.last_step) for one in wrong])
    return failed if cause is None else replace(failed, diagnoses=(cause, *failed.diagnoses))


def _approximations(one: ClaimedDerivative) -> Iterator[Guess]:
    """Yield what stands for a Hessian: Gauss-Newton's, products of gradients."""
    stated, case = one.stated, one.point.problem.case
    if not stated.is_hessian:
        return
    values = one.point.want.states[-1].values
    left, right = (one.gradients[Derivative.of("jacobian", stated.of, name).name] for name in (stated.rows, stated.by))
    yield "approximation", fact("outer_product_of_gradients"), np.multiply.outer(left, right).reshape(one.want.shape)
    above = ancestors_of(case, stated.of)
    inner = [name for name in reversed(list(case.graph)) if name in above and name in values]
    for name in inner[:_MOST_INNER]:
        if not {stated.rows, stated.by} <= ancestors_of(case, name) or values[name].size ** 2 > MOST_ENTRIES:
            continue
        around = replace(case, graph={**case.graph, name: Claim.of(Literal(0))})
        if {stated.rows, stated.by} & ancestors_of(around, stated.of):  # it leaves out more than its curvature
            continue
        try:
            curvature = one.gradients[Derivative.of("hessian", stated.of, name, name).name]
            left, right = (one.gradients[Derivative.of("jacobian", name, by).name] for by in (stated.rows, stated.by))
        except GradcheckError:
            continue
        size = values[name].size
        around_inner = left.reshape(size, -1).T @ curvature.reshape(size, size) @ right.reshape(size, -1)
        message = fact("gauss_newton", inner=name, of=stated.of, by=stated.rows)
        yield "approximation", message, wide(around_inner).reshape(one.want.shape)


def _factors(one: ClaimedDerivative) -> Iterator[Guess]:
    """Yield what is off by a tensor, or by a part of the graph."""
    want, case = one.want, one.point.problem.case
    calls = (node for claim in case.graph.values() for node in claim.expr.walk() if isinstance(node, Call))
    words = [*one.point.want.states[-1].values, *case.constants, *one.point.problem.sizes]
    for part in (*map(parse, words), *islice(calls, _MOST_PARTS)):
        array = np.squeeze(value) if (value := value_at(part, one)) is not None else np.zeros(())
        if not np.isfinite(array).all() or not np.all(array) or array.ndim > 1 or array.dtype.kind == "c":
            continue
        axes = [axis for axis, size in enumerate(want.shape) if array.ndim == 1 and size == array.size > 1]
        for power, axis in product(_POWERS, axes if array.ndim else (None,)):
            scale = array.astype(float) ** power
            if axis is not None:
                scale = scale.reshape([-1 if dim == axis else 1 for dim in range(want.ndim)])
            yield "factor_of_tensor", fact("derivative_factor", tensor=to_text(part), power=power), want * scale


def _terms(one: ClaimedDerivative) -> Iterator[Guess]:
    """Yield the derived formula with one or two terms off by a factor."""
    try:
        derived = one.derive()
        terms = at_most(_MOST_TERMS, signed_terms(derived, products=_PRODUCTS)) or list(signed_terms(derived))
        scope = one.point.scope(one.point.last_step)
        values = [(sign, expr, wide(scope.array_of(expr))) for expr, sign in terms]
    except (GradcheckError, InvalidCase):
        return
    if one.got.shape != one.want.shape or len(values) < 2:
        return
    columns = np.stack([sign * value.ravel() for sign, _, value in values], axis=1)
    found, _, rank, _ = np.linalg.lstsq(columns, one.got.ravel(), rcond=None)
    size = len(values)
    tried = [found.real.round(6)] if rank == size < len(columns) else [*(1 - np.eye(size)), *(1 - 2 * np.eye(size))]
    for counts in tried:
        of = zip(counts.tolist(), values, strict=True)
        off = [_of_term(expr, sign, count) for count, (sign, expr, _) in of if count != 1]
        if 0 < len(off) <= 2 and {*counts} <= {0, -1, 0.5, 1, 2}:
            what = off[0] if len(off) == 1 else fact("two_causes", one=off[0], other=off[1])
            yield "one_term", what, (columns @ counts).reshape(one.want.shape)


def _of_term(expr: Expr, sign: int, count: float) -> Fact:
    """Return how often a term is counted where it should be once."""
    written = to_text(expr if sign > 0 or count == -1 else negative(expr))
    if count not in (0, -1):
        return fact("term_scaled", term=written, count=count)
    return fact("term_of_other_sign", term=written) if count else fact("term_missing", term=written)


def _chain(one: ClaimedDerivative) -> Iterator[Guess]:
    """Yield the value itself, and one factor of the chain rule alone."""
    case, of, by = one.point.problem.case, one.stated.rows, one.stated.by
    if one.stated.is_hessian or of not in case.graph:
        return
    yield "forward_value", fact("is_the_value", tensor=of), wide(one.point.want.states[-1].values[of])
    between = [name for name in case.graph if name in ancestors_of(case, of) and by in ancestors_of(case, name)]
    for name in between[:_MOST_INNER]:
        outer, inner = Derivative.of("jacobian", of, name).name, Derivative.of("jacobian", name, by).name
        for had, lacks in ((outer, inner), (inner, outer)):
            yield "mixed_up", fact("chain_stops", term=had, factor=lacks), wide(one.gradients[had])


_GUESSES: tuple[Callable[[Any], Iterator[Guess]], ...] = (
    entry_mistakes.orders,
    _approximations,
    entry_mistakes.factors,
    _factors,
    entry_mistakes.parts,
    entry_mistakes.blocks,
    entry_mistakes.orders_of_lines,
    entry_mistakes.some_entries,
    _chain,
    _terms,
    entry_mistakes.wrong_diagonal,
)
