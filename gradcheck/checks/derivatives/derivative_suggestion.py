"""Suggest parts of a derived Jacobian or Hessian for a wrong one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.derivatives.claimed_derivative import ClaimedDerivative
from gradcheck.checks.derivatives.derivative_formula import derived_formula
from gradcheck.checks.failures.correction.suggestion import MAX_DERIVED, did_you_mean
from gradcheck.checks.result import Diagnosis
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.expr.nodes import Expr, Literal
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import replace_part

#: The most parts of either formula, and the most exchanges of one for another, that are tried.
_MOST_PARTS, _MOST_TRIED = 40, 500
#: The largest derivative, in entries, of which exchanges are tried.
_MOST_ENTRIES = 2_500


def suggestion(points: Sequence[ClaimedDerivative]) -> Diagnosis | None:
    """Return the claim with one part exchanged, or the derived formula.

    Either holds at all of the points. None if nothing is derived that does, or if it is long."""
    first = points[0]
    try:
        derived = derived_formula(first.point.problem.case, first.stated.term, None)
    except GradcheckError:
        return None
    if not all(_holds(derived, one) for one in points):
        return None
    claim = first.stated.claim
    for mended in islice(_exchanges(claim.expr, derived, first), _MOST_TRIED):
        if all(_holds(mended, one) for one in points):
            return did_you_mean(claim.text, to_text(mended), fact("suggestion_holds", points=len(points)))
    text = to_text(derived)
    if len(text) > MAX_DERIVED:
        return None
    return Diagnosis("derived", fact("derivative_derived", formula=text), formula=text)


def _holds(formula: Expr, one: ClaimedDerivative) -> bool:
    got = _value(formula, one)
    return got is not None and got.shape == one.want.shape and one.is_alike(got, one.want)


def _exchanges(claim: Expr, derived: Expr, one: ClaimedDerivative) -> Iterator[Expr]:
    """Yield the claim with a part exchanged, small parts first."""
    if one.want.size > _MOST_ENTRIES:
        return
    offered = {to_text(part): part for part in _parts(derived) if not isinstance(part, Literal)}
    given = [(part, _value(part, one)) for part in _parts(claim) if part is not claim]
    values = {text: _value(part, one) for text, part in offered.items()}
    pairs = product(given, offered.items())
    for (old, before), (text, new) in sorted(pairs, key=lambda pair: _size(pair[0][0]) + _size(pair[1][1])):
        after = values[text]
        if before is not None and after is not None and before.shape == after.shape and text != to_text(old):
            yield replace_part(claim, old, new)


def _parts(expr: Expr) -> list[Expr]:
    return list(islice(expr.walk(), _MOST_PARTS))


def _size(expr: Expr) -> int:
    return sum(1 for _ in expr.walk())


def _value(part: Expr, one: ClaimedDerivative) -> np.ndarray | None:
    try:
        return wide(one.point.scope(one.point.last_step).array_of(part))
    except (GradcheckError, ValueError):
        return None
