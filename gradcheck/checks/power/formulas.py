"""Mistakes planted in a case's formulas: each must make the case fail, unless it changes no number anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from gradcheck.autograd.dtypes import real_of
from gradcheck.checks.claims import Court
from gradcheck.checks.hearing import court_of, hear_formula
from gradcheck.checks.power.edits import mistakes
from gradcheck.checks.power.scenes import Scene, Stage
from gradcheck.checks.tolerance import of_claim
from gradcheck.language.case import Claim
from gradcheck.language.expr import Expr

#: What was done, where, and the evidence that caught it: empty where none did, None where nothing changed.
Trial = tuple[str, str, str | None]
#: A factor this far from 1 must be seen, or a few times the tolerance of the claim where that is coarser.
_FACTOR, _TOLERANCES = 1e-3, 10.0


class MistakenFormulas:
    """The formulas of one case, with a mistake at a time."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def tried(self) -> Iterator[Trial]:
        """What was done to which formula, and what became of it."""
        case = self.stage.problem.case
        for name, claims in case.formulas.items():
            for claim in claims:
                for what, wrong in mistakes(claim.expr, self._factor(name)):
                    place = f"the formula for {name}: {wrong}"
                    yield what, place, self._evidence(name, wrong)

    def _factor(self, name: str) -> float:
        case = self.stage.problem.case
        gradient = self._own[0][0].ground.gradients.get(name) if self._own else None
        dtype = self.stage.problem.dtype if gradient is None else gradient.dtype
        limits = of_claim(case.tolerance, name, real_of(dtype), self.stage.settings.tolerance)
        return 1 + max(_FACTOR, _TOLERANCES * (limits.rtol + limits.atol))

    def _evidence(self, name: str, wrong: Expr) -> str | None:
        claim = Claim(str(wrong), wrong)
        for courts, evidence in ((self._own, "formula"), (self._trials, "trial"), (self._elsewhere, "")):
            if any(self._fails(court, name, claim) for court in courts):
                return evidence
        return None

    def _fails(self, court: tuple[Court, Scene], name: str, claim: Claim) -> bool:
        return hear_formula(court[0], name, claim, court[1].noise).status != "passed"

    @cached_property
    def _own(self) -> list[tuple[Court, Scene]]:
        return self._courts([self.stage.own])

    @cached_property
    def _trials(self) -> list[tuple[Court, Scene]]:
        return self._courts(self.stage.trials)

    @cached_property
    def _elsewhere(self) -> list[tuple[Court, Scene]]:
        return self._courts(self.stage.random())

    def _courts(self, scenes: list[Scene]) -> list[tuple[Court, Scene]]:
        last = len(self.stage.problem.case.steps) - 1
        override = self.stage.settings.tolerance
        return [
            (court_of(scene.problem, scene.want, last, override), scene)
            for scene in scenes
            if len(scene.want.states) > last
        ]
