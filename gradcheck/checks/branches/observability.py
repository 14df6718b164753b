"""Observability: sides of a claim's comparisons whose outcome matters.

A side of `x < -2.5` does not matter for elements that a mask multiplies by 0. (For conditions in programs this is
MC/DC: Chilenski and Miller, Software Engineering Journal 9(5), 1994.)
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.checks.branches.branch_sites import BranchSite, as_array
from gradcheck.checks.branches.margin_recording import MarginLog, WrappedNames, log_margins_at, named_claims, unwrap
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem


def observable_sides(
    problem: Problem, gradients: Mapping[str, Any], owners: Container[str], known: Any = None, observed: Any = None
) -> dict[BranchSite, set[int]]:
    """Return further sides of claims' own comparisons that matter, or raise."""
    found: dict[BranchSite, set[int]] = {}
    with no_grad(), quiet():
        log, names, held = log_margins_at(problem, gradients, owners, known)
        for name, claim in named_claims(problem.case):
            stated = [(s, m) for s, m in log.margins.items() if s.owner == name and m.is_stated and name in owners]
            value = partial(_value, name, claim, names, held)
            unflipped = value(None) if stated else None
            for site, margin in stated if unflipped is not None else ():
                others = [side for side in site.sides if abs(side) < 2 and side not in (observed or {}).get(site, ())]
                on = [side for side in others if site.is_on(margin.numbers, side)]
                found[site] = {side for side in on if not _equal(unflipped, value((site.number, side)))}
    return found


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other, equal_nan=True)


def _value(
    name: str, claim: Claim, names: Mapping[str, Any], gradients: Mapping[str, Any], flipped: tuple[int, int] | None
) -> np.ndarray | None:
    """Return a claim's value with one comparison flipped, None if it has none."""
    log = MarginLog(flipped=flipped)
    log.enter(name, claim, True)
    try:
        value = evaluate(claim.expr, WrappedNames(names, log), gradients=WrappedNames(gradients, log))
    except (GradcheckError, TypeError, ValueError):
        return None
    plain = unwrap(value)
    parts = plain if isinstance(plain, (tuple, list)) else (plain,)  # a step may have several results
    return np.concatenate([as_array(part).astype(np.complex128).ravel() for part in parts])
