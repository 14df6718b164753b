"""Sides of comparisons in the case's own names: `x > 6`.

If the margin `a - b` differs from a named tensor by one number at every point, that number is the threshold. So
comparisons within the rule of `clamp` are named like those in a formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.checks.branches.branch_sites import EQUALITY_OPS, BranchSite
from gradcheck.checks.branches.margin_recording import margins_at, named_claims
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.printer import to_text

#: The points that are compared, and the most tensors.
_POINTS, _MOST = 3, 64
_RELATIONS = {-2: "<", -1: "<", 0: "==", 1: ">", 2: ">"}


#: The margin of a comparison at one point, and the tensors that it may be made of.
_PointMargin = tuple[np.ndarray, dict[str, np.ndarray]]


def side_condition(points: Sequence[Point], site: BranchSite, side: int) -> str:
    """Return `x > 6`, the comparison as written, or ""."""
    seen = [found for found in (_margin_at(point, site) for point in points[:_POINTS]) if found is not None]
    for name, sign in _candidate_names(seen):
        threshold = _threshold(seen, name, sign)
        if threshold is not None:
            relation = "!=" if site.op in EQUALITY_OPS and side == 1 else _RELATIONS[side * sign]
            return f"{name} {relation} {threshold:.6g}{' everywhere' if abs(side) == 2 else ''}"
    return _as_written(points[0].problem.case, site)


def _margin_at(point: Point, site: BranchSite) -> _PointMargin | None:
    if not point.is_complete:
        return None
    problem, scope = point.problem, point.scope(point.last_step)
    try:
        found = margins_at(problem, scope.gradients, (site.owner,)).get(site)
    except GradcheckError:
        return None
    if found is None or not found.numbers.size:
        return None
    named = {n: v for n, v in scope.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}
    named |= {f"grad({n})": g for n, g in scope.gradients.items() if g.dtype.kind == "f"}
    fitting = {n: v for n, v in list(named.items())[:_MOST] if v.shape == found.numbers.shape}
    return found.numbers, fitting | {f"abs({n})": np.abs(v) for n, v in fitting.items()}


def _candidate_names(seen: Sequence[_PointMargin]) -> Iterator[tuple[str, int]]:
    """Yield tensors, standing left of the comparison (1) or right (-1)."""
    for name in seen[0][1] if seen else ():
        yield from ((name, 1), (name, -1))


def _threshold(seen: Sequence[_PointMargin], name: str, sign: int) -> float | None:
    """Return the number that a tensor is compared with, if it is constant."""
    rest = np.concatenate([np.ravel(tensors[name] - sign * margin) for margin, tensors in seen if name in tensors])
    margin = np.concatenate([np.ravel(margin) for margin, _ in seen])
    if rest.size < 2 or np.ptp(margin) == 0 or not np.all(np.isfinite(rest)):
        return None
    threshold = float(np.median(rest))
    scale = max(abs(threshold), float(np.max(np.abs(margin))))
    if np.max(np.abs(rest - threshold)) > 1e-6 * scale:
        return None
    return 0.0 if abs(threshold) < 1e-12 * scale else threshold


def _as_written(case: Case, site: BranchSite) -> str:
    """Return the comparison as written, if there is one by this op."""
    stated = {**dict(case.graph), **dict(named_claims(case))}
    claim = stated.get(site.owner)
    calls = [] if claim is None else [n for n in claim.expr.walk() if isinstance(n, Call) and n.op == site.op]
    return f"the other side of `{to_text(calls[0])}`" if len(calls) == 1 else ""
