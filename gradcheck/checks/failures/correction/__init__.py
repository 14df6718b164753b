"""`did you mean  A.T @ G ?`: the nearest right formulas to a wrong one, each verified like any formula.

Asked only where a formula has failed, and only for as long as a person would wait.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradcheck.checks.claims.formulas import court_of, hear_formula
from gradcheck.checks.claims.stated import Court
from gradcheck.checks.closeness.conditioning import Noise
from gradcheck.checks.derivation import explain
from gradcheck.checks.failures.correction.bench import Bench
from gradcheck.checks.failures.correction.search import search
from gradcheck.checks.failures.correction.vocabulary import vocabulary
from gradcheck.checks.options import Settings
from gradcheck.checks.points import elsewhere
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Claim
from gradcheck.language.expr.mentions import free_names
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import walk
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.trials import is_general
from gradcheck.oracles.exact.prove import prove

#: Seconds for each formula, and for all of a case.
EACH, ALL = 1.0, 3.0
#: How many formulas that fit are verified, the likeliest first; one that holds is shown.
MOST_VERIFIED = 8
#: At how many other points; and how often one is drawn again that does not fit.
POINTS, ATTEMPTS = 3, 12
#: A derived formula longer than this is no help in a line of a report.
MAX_DERIVED = 160
#: The gradients of a graph of more parts are not derived.
MAX_GRAPH = 400


def suggest(
    problem: Problem, want: Evaluation, comparisons: Sequence[Comparison], settings: Settings
) -> list[Comparison]:
    """The comparisons, those of formulas that failed with what may have been meant: a diagnosis `did_you_mean`."""
    claims = {(name, claim.text): claim for name, listed in problem.case.formulas.items() for claim in listed}
    places: dict[tuple[str, str], int] = {}
    for place, c in enumerate(comparisons):
        if c.what == "formula" and c.status == "failed" and (c.tensor, c.formula) in claims:
            key = (c.tensor, c.formula)
            if key not in places or (c.trial is None and comparisons[places[key]].trial is not None):
                places[key] = place
    if not places or len(want.states) != len(problem.case.steps):
        return list(comparisons)
    advisor = _Advisor(problem, want, settings)
    changed = list(comparisons)
    deadline = time.perf_counter() + ALL
    for (name, text), place in places.items():
        seconds = min(EACH, deadline - time.perf_counter())
        advice = advisor.advice(name, claims[name, text], seconds) if seconds > 0 else None
        if advice is not None:
            changed[place] = replace(changed[place], diagnoses=(*changed[place].diagnoses, advice))
    return changed


@dataclass(frozen=True, slots=True)
class _Scene:
    """One point at which formulas are heard."""

    court: Court
    noise: Noise


class _Advisor:
    """Suggests formulas for one case."""

    def __init__(self, problem: Problem, want: Evaluation, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.own = self._scene(problem, want)

    def advice(self, name: str, claim: Claim, seconds: float) -> dict[str, str] | None:
        """What may have been meant instead of one wrong formula; None where nothing near it is right."""
        start = time.perf_counter()
        scene = self.others[0] if self.others else self.own
        want = scene.court.ground.gradients.get(name)
        if want is None or not np.any(np.isfinite(want)):
            return None
        bench = Bench(scene.court.ground, scene.court.ground.gradients)
        root = bench.add(claim.expr)
        words = vocabulary(bench, self.problem.case, name, claim.expr, self.derived.get(name, ()))
        left = seconds - (time.perf_counter() - start)
        for found in search(bench, words, root, want, left):
            for candidate in found[:MOST_VERIFIED]:
                text = to_text(bench.exprs[candidate.part])
                if self._is_right(name, text):
                    return {"kind": "did_you_mean", "message": f"did you mean  {text} ?", "formula": text}
        return self._rederived(name)

    def _rederived(self, name: str) -> dict[str, str] | None:
        """What the rules of differentiation give, where that is short."""
        texts = sorted((to_text(expr) for expr in self.derived.get(name, ())), key=len)
        if not texts or len(texts[0]) > MAX_DERIVED:
            return None
        message = f"nothing near it is right; the derived gradient is  {texts[0]}"
        return {"kind": "derived", "message": message, "formula": texts[0]}

    def _is_right(self, name: str, text: str) -> bool:
        """Whether a formula, read from its text, holds here and elsewhere, and is not refuted by the exact oracle."""
        claim = Claim(text, parse(text))
        for scene in (self.own, *self.others):
            if hear_formula(scene.court, name, claim, scene.noise).status != "passed":
                return False
        if not self.others:
            return self._proof(name, claim) == "proved"
        return self._proof(name, claim) != "refuted"

    def _proof(self, name: str, claim: Claim) -> str:
        try:
            (proof,) = prove(self.problem, [(name, claim)], self.problem.seed)
        except (GradcheckError, MemoryError):
            return "unsupported"
        return proof.status

    @cached_property
    def derived(self) -> dict[str, list[Expr]]:
        """Each tensor's gradient as formulas: by way of its children's gradients, and by inputs alone."""
        found: dict[str, list[Expr]] = {}
        if sum(1 for claim in self.problem.case.graph.values() for _ in walk(claim.expr)) > MAX_GRAPH:
            return found
        for expand in (False, True):
            explanation = explain(self.problem.case, self.problem.seed, expand=expand)
            for one in explanation.formulas:
                if one.lasting and explanation.let.keys().isdisjoint(free_names(one.expr)):
                    found.setdefault(one.tensor, []).append(one.expr)
        return found

    @cached_property
    def others(self) -> list[_Scene]:
        """Other points: other values and sizes where the case says that they can vary, else its own numbers, moved."""
        found = []
        general = is_general(self.problem.case) and self.problem.case.generalize is not None
        for number in range(POINTS):
            scene = self._drawn(number) if general else self._evaluated(elsewhere(self.problem, number + 1))
            if scene is not None:
                found.append(scene)
        return found

    def _drawn(self, number: int) -> _Scene | None:
        for attempt in range(ATTEMPTS):
            try:
                problem = draw(self.problem.case, self.problem.seed, number, attempt=attempt)
            except GradcheckError:  # sizes that do not go together: others will
                continue
            scene = self._evaluated(problem)
            if scene is not None:
                return scene
        return None

    def _evaluated(self, problem: Problem) -> _Scene | None:
        want = self.settings.reference.evaluate(problem)
        complete = len(want.states) == len(problem.case.steps) and not want.states[-1].error
        return self._scene(problem, want) if complete else None

    def _scene(self, problem: Problem, want: Evaluation) -> _Scene:
        court = court_of(problem, want, len(problem.case.steps) - 1, self.settings.tolerance)
        return _Scene(court, Noise(self.settings.reference, problem, want))
