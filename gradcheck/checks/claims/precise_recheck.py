"""Refute stated gradients and formulas that only rounding excuses.

Rounding can explain a difference of any size: `1 - y * y` of a saturated `y` has no digit left. High precision rounds
nothing. A stated number is wrong if it is far from the derivative there, and the engines are much closer to it. A
formula is wrong if its own value in high precision is far from the derivative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from gradcheck.checks.context import Context
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.traverse import inline_steps

#: The least relative error that is looked at, and how many times the engines' error it must be.
_LARGE, _TIMES = 1e-6, 16.0
#: The most elements that are examined, the furthest off first, and the most elements of all values of a graph.
_MOST, _MOST_ELEMENTS = 4, 400
#: A derivative below this part of the stated number is a 0 that high precision has rounded.
_NOTHING = 1e-50


def refute_stated_gradients(
    compared: Iterable[Comparison], excused: Iterable[Comparison], point: Point
) -> Iterator[Comparison]:
    """Yield comparisons after their excuses; the wrong ones as failed."""
    for before, after in zip(compared, excused, strict=True):
        verdict = None
        if after.what is ClaimKind.EXPECTED and after.has_note("within_rounding"):
            with suppress(GradcheckError, ValueError, TypeError, LookupError, ArithmeticError):
                verdict = _verdict(before, point)
        yield after if verdict is None else replace(before, verdict=verdict)


@np.errstate(all="ignore")
def _verdict(c: Comparison, point: Point) -> Fact | None:
    """Return that the file is wrong, if it is in one of the worst elements."""
    from gradcheck.oracles.numeric.numeric_gradient import numeric_gradient  # not needed for most cases

    stated, evaluations = c.want_array, point.evaluations()
    if stated is None or stated.dtype != np.float64 or c.mask is None:
        return None
    engines = np.array([one.states[c.step].gradients[c.tensor] for one in evaluations.values()], dtype=np.float64)
    size = np.maximum(np.abs(stated), np.abs(engines).max(axis=0))
    part = np.where(c.mask, np.abs(engines - stated).min(axis=0) / size, 0.0).ravel()
    oracle = numeric_gradient(point.problem, c.tensor, c.step)
    for index in [at for at in np.argsort(-part)[:_MOST].tolist() if part[at] > _LARGE]:
        found = oracle.precise_partials([index], _MOST_ELEMENTS)
        claimed, right = stated.flat[index], np.nan if found is None else found.value[0]
        of_engines = np.abs(engines.reshape(len(engines), -1)[:, index] - right).max()
        is_known = abs(right) > _NOTHING * abs(claimed)
        if is_known and abs(claimed - right) > max(_LARGE * abs(right), _TIMES * of_engines):
            names, closeness = (*evaluations, "high precision"), float(of_engines / abs(right))
            return fact("stands_alone", wrong=fact("the_file"), agree=names, closeness=closeness)
    return None


@np.errstate(all="ignore")
def refutation(context: Context, name: str, claim: Claim) -> Fact | None:
    """Return that a formula is wrong in one of the worst own elements."""
    from gradcheck.oracles.numeric.numeric_gradient import numeric_gradient
    from gradcheck.oracles.numeric.objective import precise_value

    case, point = context.case, context.points.own
    scope = point.scope(point.last_step)
    got, want = np.asarray(scope.array_of(claim.expr)), scope.gradients[name]
    if want.dtype != np.float64 or context.options.oracle == "none":
        return None
    part = np.abs(got - want) / np.maximum(np.abs(got), np.abs(want))  # NaN if both are 0
    hidden = [at for at in np.argsort(-part.ravel())[:_MOST].tolist() if not part.flat[at] <= _LARGE]
    found = numeric_gradient(point.problem, name, point.last_step).precise_partials(hidden, _MOST_ELEMENTS)
    if not hidden or found is None:
        return None
    expr = inline_steps(claim.expr, {step: case.let[step].expr for step in case.let_steps_of(claim.expr)})
    roots = {root: scope.gradients[root] for step in case.steps for root in step.roots}
    claimed = precise_value(point.problem, name, point.last_step, expr, roots).ravel()[hidden]
    off = (found.value != 0) & (np.abs(claimed - found.value) > _LARGE * np.abs(found.value))
    pairs = zip(claimed[off].tolist(), found.value[off].tolist(), strict=True)
    return next((fact("hidden_by_rounding", got=got, want=want) for got, want in pairs), None)
