"""Mistakes planted in a case's derivations: each must make the case fail, unless it changes no number anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gradcheck.autograd.dtypes import real_of
from gradcheck.checks.claims.formulas import court_of, hear_check, hear_formula
from gradcheck.checks.claims.stated import Court
from gradcheck.checks.closeness.tolerance import of_claim
from gradcheck.checks.mutation.edits import mistakes
from gradcheck.checks.mutation.scenes import Scene, Stage
from gradcheck.language.case import Case, Claim
from gradcheck.oracles.exact.prove import prove

#: What was done, where, and the evidence that caught it: empty where none did, None where nothing changed.
Trial = tuple[str, str, str | None]
#: A factor this far from 1 must be seen, or a few times the tolerance of the claim where that is coarser.
_FACTOR, _TOLERANCES = 1e-3, 10.0


class MistakenFormulas:
    """The formulas of one case, and the steps they are derived in, with a mistake at a time."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.case = stage.problem.case

    def tried(self) -> Iterator[Trial]:
        """What was done to which formula or step, and what became of it."""
        for name, claims in self.case.formulas.items():
            for number, claim in enumerate(claims):
                for what, wrong in mistakes(claim.expr, self._factor(name)):
                    changed = Claim.of(wrong)
                    formulas = {name: (*claims[:number], changed, *claims[number + 1 :])}
                    mistaken = replace(self.case, formulas=formulas, checks=())
                    yield what, f"the formula for {name}: {changed.text}", self._evidence(mistaken, {name: (changed,)})
        for name, claim in self.case.let.items() if self.case.formulas or self.case.checks else ():
            for what, wrong in mistakes(claim.expr, self._factor("")):
                changed = Claim.of(wrong)
                mistaken = replace(self.case, let={**self.case.let, name: changed})
                yield what, f"the step {name}: {changed.text}", self._evidence(mistaken, self.case.formulas)

    def _factor(self, name: str) -> float:
        gradients = self.stage.own.want.states[-1].gradients
        known = gradients.get(name)
        dtype = self.stage.problem.dtype if known is None else known.dtype
        limits = of_claim(self.case.tolerance, name, real_of(dtype), self.stage.settings.tolerance)
        return 1 + max(_FACTOR, _TOLERANCES * (limits.rtol + limits.atol))

    def _evidence(self, mistaken: Case, formulas: Mapping[str, tuple[Claim, ...]]) -> str | None:
        if self._fails(self.stage.own, mistaken, formulas):
            return "formula"
        if any(self._fails(scene, mistaken, formulas) for scene in self.stage.trials):
            return "trial"
        if not any(self._fails(scene, mistaken, formulas) for scene in self.stage.random()):
            return None
        claims = [(name, claim) for name, listed in formulas.items() for claim in listed]
        proofs = prove(replace(self.stage.problem, case=mistaken), claims, self.stage.problem.seed)
        return "proof" if any(proof.status == "refuted" for proof in proofs) else ""

    def _fails(self, scene: Scene, mistaken: Case, formulas: Mapping[str, tuple[Claim, ...]]) -> bool:
        """Whether a formula, or a check that steps lead to, would not pass here."""
        last = len(mistaken.steps) - 1
        if len(scene.want.states) <= last:
            return False
        problem = replace(scene.problem, case=mistaken)
        court: Court = court_of(problem, scene.want, last, self.stage.settings.tolerance)
        heard = (hear_formula(court, name, claim, scene.noise) for name, listed in formulas.items() for claim in listed)
        checked = (hear_check(court, claim, scene.noise) for claim in mistaken.checks)
        return any(one.status != "passed" for several in (heard, checked) for one in several)
