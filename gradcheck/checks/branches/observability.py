"""Observability: sides of a claim's comparisons whose outcome matters.

A side of `x < -2.5` does not matter for elements that a mask multiplies by 0. (For conditions in programs this is
MC/DC: Chilenski and Miller, Software Engineering Journal 9(5), 1994.)
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.checks.branches.branch_sites import BranchSite, Margin, as_array
from gradcheck.checks.branches.margin_recording import MarginLog, WrappedNames, log_margins_at, named_claims, unwrap
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem


def observable_sides(
    problem: Problem, gradients: Mapping[str, Any], owners: Container[str], known: Mapping[str, Any] | None = None
) -> dict[BranchSite, set[int]]:
    """Return the sides of claims' own comparisons that matter.

    `known` are values of the graph. Raises GradcheckError.
    """
    found: dict[BranchSite, set[int]] = {}
    with no_grad(), quiet():
        log, names, held = log_margins_at(problem, gradients, owners, known)
        for name, claim in named_claims(problem.case):
            stated = [(s, m) for s, m in log.margins.items() if s.owner == name and m.is_stated and name in owners]
            if stated:
                found |= _FlippedClaim(name, claim, names, held).observable_sides(stated)
    return found


class _FlippedClaim:
    """One claim whose comparisons are flipped in turn."""

    def __init__(self, name: str, claim: Claim, names: Mapping[str, Any], gradients: Mapping[str, Any]) -> None:
        self._name, self._claim, self._names, self._gradients = name, claim, names, gradients

    def observable_sides(self, stated: list[tuple[BranchSite, Margin]]) -> dict[BranchSite, set[int]]:
        as_it_is = self._value(None)
        if as_it_is is None:
            return {}
        found: dict[BranchSite, set[int]] = {}
        for site, margin in stated:
            on = [side for side in site.sides if abs(side) < 2 and site.is_on(margin.numbers, side)]
            turned = ((side, self._value((site.number, side))) for side in on)
            found[site] = {s for s, v in turned if v is None or not np.array_equal(as_it_is, v, equal_nan=True)}
        return found

    def _value(self, turned: tuple[int, int] | None) -> np.ndarray | None:
        log = MarginLog(flipped=turned)
        log.enter(self._name, self._claim, True)
        try:
            value = evaluate(
                self._claim.expr, WrappedNames(self._names, log), gradients=WrappedNames(self._gradients, log)
            )
        except (GradcheckError, TypeError, ValueError):
            return None
        plain = unwrap(value)
        parts = plain if isinstance(plain, (tuple, list)) else (plain,)  # a step may have several results
        return np.concatenate([as_array(part).astype(np.complex128).ravel() for part in parts])
