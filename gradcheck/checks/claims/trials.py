"""The same claims at other numbers: fresh values and fresh sizes, where a case says that they can vary.

A formula that is right at one point may be right by accident; a wrong one must fail somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.checks.claims.engines import compare_evaluations
from gradcheck.checks.claims.formulas import court_of, hear_check, hear_formula, hear_general
from gradcheck.checks.claims.stated import Court
from gradcheck.checks.closeness.conditioning import Noise
from gradcheck.checks.closeness.rounding import widen
from gradcheck.checks.options import Settings
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.errors import GradcheckError, TensorError
from gradcheck.language.case import Case, Claim
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.trials import trials

#: How often a trial is drawn again, when its sizes do not go together or its values say nothing.
ATTEMPTS = 20
#: Of these kinds of error a derivation is refuted: its shape is wrong.
_REFUTES = ("shape_mismatch: ", "index_out_of_range: ")
_GENERAL = frozenset({"formula", "wrong_formula", "check"})


@dataclass(slots=True)
class WrongFormula:
    """A derivation on its way to being refuted."""

    name: str
    claim: Claim
    heard: int = 0
    last: Comparison | None = None
    refuted: Comparison | None = None

    def hear(self, court: Court, noise: Noise) -> None:
        """Try it at one more point, unless it is refuted already."""
        if self.refuted is not None:
            return
        found = hear_formula(court, self.name, self.claim, noise, "wrong_formula")
        self.last = found
        if found.status == "failed" and _is_refutation(found):
            self.refuted = found
        elif not _says_nothing(found):
            self.heard += 1

    def verdict(self) -> Comparison:
        """Passed if it was wrong somewhere."""
        if self.refuted is not None:
            return replace(self.refuted, status="passed", message=f"refuted{_reason(self.refuted)}")
        assert self.last is not None
        if self.last.status == "failed":
            return self.last
        times = "1 point" if self.heard == 1 else f"{self.heard} points"
        return replace(self.last, status="failed", message=f"should be refuted, but holds at {times}", trial=None)


def _is_refutation(found: Comparison) -> bool:
    """A difference in numbers or shape; not an op called with arguments that it does not take."""
    return found.mask is not None or found.got_array is not None or found.message.startswith(_REFUTES)


def _reason(found: Comparison) -> str:
    if found.message:
        return f": {found.message}"
    return f": {found.mismatched} of {found.elements} elements differ"


def _says_nothing(found: Comparison) -> bool:
    """Whether every element is NaN on both sides, or there are none."""
    if found.elements == 0:
        return True
    return any(note.startswith(f"{found.elements} NaN") for note in found.notes)


def verify(
    problem: Problem,
    want: Evaluation,
    comparisons: Sequence[Comparison],
    engines: Sequence[Engine],
    settings: Settings,
    noise: Noise,
) -> list[Comparison]:
    """Wrong formulas at the case's own numbers and at the trials'; all other general claims at the trials'.

    `comparisons` are those at the case's own numbers. They come first in what is returned, with a note where some
    trial proved nothing.
    """
    case = problem.case
    wrong = [WrongFormula(name, claim) for name, claims in case.wrong_formulas.items() for claim in claims]
    last = len(case.steps) - 1
    if wrong and len(want.states) == len(case.steps):
        court = court_of(problem, want, last, settings.tolerance)
        for one in wrong:
            one.hear(court, noise)
    if case.generalize is None and not wrong:
        return list(comparisons)
    notes: list[str] = []
    found: list[Comparison] = []
    numbers = trials(case, settings.trials)
    problems = [problem]
    for number in numbers:
        trial = _Trial(case, number, engines, settings)
        heard, why_not = trial.verify(wrong)
        found += heard
        notes += [why_not] if why_not else []
        problems += trial.problems
    nearby = _nearby(problem, len(numbers) + 1, settings, wrong)
    found += nearby or []
    if len(notes) == len(numbers) and case.generalize is not None and nearby is None:
        notes.append("verified at these numbers only")
    own = [*comparisons, *(one.verdict() for one in wrong if one.last is not None)]
    general = [noted(c, notes) if notes and c.what in _GENERAL else c for c in own] + found
    if not (case.generalize is not None and case.formulas):
        return general
    from gradcheck.checks.claims.certificates import certify

    return certify(problems, general, settings.tolerance)


def _nearby(
    problem: Problem, number: int, settings: Settings, wrong: Sequence[WrongFormula]
) -> list[Comparison] | None:
    """Formulas where the literals among the inputs are moved a little: those that are right at one point alone fail.

    None if there is nothing to move, or if the graph is not defined (or not finite) there.
    """
    case = problem.case
    literals = [name for name, value in case.inputs.items() if value.expr is None and name not in case.shapes]
    if case.generalize is None or not literals or not (case.formulas or wrong):
        return None
    try:
        moved = draw(case, problem.seed, nudged=True)
    except GradcheckError:
        return None
    want = settings.reference.evaluate(moved)
    if _unusable(case, want) or not _is_finite(want):
        return None
    about = {"trial": number, "seed": problem.seed, "sizes": dict(moved.sizes)}
    noise = Noise(settings.reference, moved, want)
    court = court_of(moved, want, len(case.steps) - 1, settings.tolerance, about)
    for one in wrong:
        one.hear(court, noise)
    heard = [c for c in hear_general(court, noise) if c.what == "formula"]
    message = "holds at the numbers given, if at all, but not at others"
    return [replace(c, message=message) if c.status == "failed" and not c.message else c for c in heard]


def _is_finite(evaluation: Evaluation) -> bool:
    gradients = (g for state in evaluation.states for g in state.gradients.values() if g is not None)
    return all(bool(np.all(np.isfinite(g))) for g in gradients if g.dtype.kind in "fc")


def noted(comparison: Comparison, notes: Sequence[str]) -> Comparison:
    """The same with more notes."""
    return replace(comparison, notes=(*comparison.notes, *notes))


@dataclass(frozen=True, slots=True)
class _Trial:
    """One trial, drawn again until it says something."""

    case: Case
    number: int
    engines: Sequence[Engine]
    settings: Settings
    #: What was drawn in the end, if anything.
    problems: list[Problem] = field(default_factory=list)

    def verify(self, wrong: Sequence[WrongFormula]) -> tuple[list[Comparison], str]:
        """Engines against the reference, formulas and checks against its gradients; or why that was not possible."""
        reason = ""
        for attempt in range(ATTEMPTS):
            try:
                problem = draw(self.case, self.settings.seed, self.number, attempt=attempt)
            except TensorError as error:
                reason = f"values cannot be drawn: {error}"
                continue
            want = self.settings.reference.evaluate(problem)
            reason = _unusable(self.case, want)
            if reason:
                continue
            found = self._heard(problem, want, wrong)
            if all(c.status == "passed" for c in found) and any(_says_nothing(c) for c in found if c.what in _GENERAL):
                reason = "every element of a formula is NaN"
                continue
            self.problems.append(problem)
            return found, ""
        return [], f"trial {self.number + 1} could not be verified in {ATTEMPTS} draws: {reason}"

    def _heard(self, problem: Problem, want: Evaluation, wrong: Sequence[WrongFormula]) -> list[Comparison]:
        about = {"trial": self.number + 1, "seed": problem.seed, "sizes": dict(problem.sizes)}
        reference = self.settings.reference
        noise = Noise(reference, problem, want)
        evaluations = {reference.name: want}
        found: list[Comparison] = []
        for engine in self.engines:
            got = evaluations[engine.name] = engine.evaluate(problem)
            found += widen(compare_evaluations(problem, got, want, self.settings.tolerance, about), noise)
        for index, step in enumerate(self.case.steps):
            if step.checks:
                court = court_of(problem, want, index, self.settings.tolerance, about)
                found += [hear_check(court, claim, noise) for claim in step.checks]
        court = court_of(problem, want, len(self.case.steps) - 1, self.settings.tolerance, about)
        found += hear_general(court, noise)
        for one in wrong:
            one.hear(court, noise)
        if self.settings.oracle == "none" or all(c.status != "failed" for c in found):
            return found
        from gradcheck.checks.failures.arbitration import appeal

        return appeal(problem, found, evaluations, noise)


def _unusable(case: Case, want: Evaluation) -> str:
    """Why a trial's numbers cannot be used; empty if they can."""
    if not want.states:
        return str(want.error)
    for step, state in zip(case.steps, want.states, strict=False):
        kind = state.error.kind if state.error else None
        if kind != step.raises:
            return f"{state.error}" if state.error else f"{step.raises} is not raised at these sizes"
    return ""
