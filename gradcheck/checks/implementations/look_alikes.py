"""Name a gradient that is of another function of the same name.

GELU has an exact form and two approximations, which code mixes up. They are found in an entry by their values, so also
where they are written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.catalogue import matches
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.checks.scope import Scope
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import replace_part, substitute

#: Functions of `v` that stand for each other.
_FORMS = ("gelu(v)", "gelu(v, approximate='tanh')", "v * sigmoid(1.702 * v)")
#: The most parts of an entry that are compared.
_MOST_PARTS = 60


def look_alikes(c: Comparison, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return the function whose derivative a gradient is."""
    if not seen:
        return ()
    point, _ = seen[0]
    points = fact("computed_at_points", points=len(seen))
    with using_default_dtype(point.problem.dtype), quiet(), np.errstate(all="ignore"):
        for entry, right, wrong, changed in _exchanged(point, c.step):
            if all(matches(_gradient(at, entry, changed, c), evidence) for at, evidence in seen):
                what = fact("derivative_of_another", wrong=to_text(wrong), right=to_text(right))
                return (Diagnosis("other_formula", what, "confirmed", points),)
    return ()


def _exchanged(point: Point, step: int) -> Iterator[tuple[str, Expr, Expr, Expr]]:
    """Yield an entry, a form in it, another form, and the entry with that."""
    scope = point.scope(step)
    for entry, claim in point.problem.case.graph.items():
        parts = list(claim.expr.walk())
        for part in parts if len(parts) <= _MOST_PARTS else ():
            for number, operand in _forms_of(part, scope):
                forms = [substitute(parse(form), {"v": operand}) for form in _FORMS]
                for other in range(len(_FORMS)):
                    if other != number:
                        changed = replace_part(claim.expr, part, forms[other])
                        yield entry, forms[number], forms[other], changed


def _forms_of(part: Expr, scope: Scope) -> Iterator[tuple[int, Expr]]:
    """Yield the form that a part has, with its operand."""
    whole = _value(part, scope)
    if whole is None or whole.size < 2:
        return
    for operand in part.walk():
        value = _value(operand, scope) if operand is not part else None
        if value is None or value.shape != whole.shape:
            continue
        for number, form in enumerate(_FORMS):
            found = _value(substitute(parse(form), {"v": operand}), scope)
            if found is not None and np.allclose(wide(found), wide(whole), rtol=1e-9, atol=1e-12):
                yield number, operand
                return


def _value(expr: Expr, scope: Scope) -> np.ndarray | None:
    try:
        found = scope.array_of(expr)
    except (GradcheckError, KeyError, TypeError, ValueError):
        return None
    return found if found.dtype.kind == "f" else None


def _gradient(point: Point, entry: str, expr: Expr, c: Comparison) -> np.ndarray | None:
    case = point.problem.case
    changed = replace(case, graph={**case.graph, entry: Claim.of(expr)})
    states = point.engines.reference.evaluate(replace(point.problem, case=changed)).states
    return states[c.step].gradients.get(c.tensor) if len(states) > c.step else None
