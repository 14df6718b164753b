"""What a case that is right has shown: formulas that hold, mistakes that were refuted, gradients that agree."""

from __future__ import annotations

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.reports.text import brief, count


def achievements(case: CaseResult) -> list[str]:
    """Short remarks, the most telling first: `4 formulas hold at 3 other shapes`, `7 gradients agree`."""
    passed = [comparison for comparison in case.comparisons if comparison.status == "passed"]
    formulas = [c for c in passed if c.what == "formula"]
    remarks = []
    if formulas:
        number = len({(c.tensor, c.formula) for c in formulas})
        remarks.append(f"{count(number, 'formula')} {_standing(formulas, number)}{_elsewhere(formulas)}")
    refuted = len({(c.tensor, c.formula) for c in passed if c.what == "wrong_formula"})
    if refuted:
        remarks.append(f"{refuted} refuted" if formulas else f"{count(refuted, 'wrong formula')} refuted")
    checks = len({(c.formula, c.tensor, c.step) for c in passed if c.what == "check"})
    if checks:
        remarks.append(f"{count(checks, 'check')} {'holds' if checks == 1 else 'hold'}")
    gradients = len({(c.tensor, c.step) for c in passed if c.what in ("gradient", "expected")})
    if gradients:
        remarks.append(f"{count(gradients, 'gradient')} {'agrees' if gradients == 1 else 'agree'}")
    raised = len({c.step for c in passed if c.what == "raises"})
    if raised:
        remarks.append(f"{count(raised, 'error')} raised as expected")
    kinks = [c for c in case.comparisons if c.status == "not_differentiable"]
    conventions = {(c.tensor, c.step) for c in kinks if c.what != "node"} or {(c.tensor, 0) for c in kinks}
    if conventions:
        remarks.append(f"another convention at {count(len(conventions), 'kink')}")
    return remarks


def _standing(formulas: list[Comparison], number: int) -> str:
    """`proved`, and the probability of that if one is wrong, if the exact oracle has proved them all; else that they
    hold, and how many of them are proved."""
    proved = len({(c.tensor, c.formula) for c in formulas if c.certificate})
    if proved == number:
        bound = max(float(c.certificate["bound"]) for c in formulas if c.certificate)
        return f"proved (p < {brief(bound)})"
    return ("holds" if number == 1 else "hold") + (f" ({proved} proved)" if proved else "")


def _elsewhere(formulas: list[Comparison]) -> str:
    """` at 3 other shapes`, or ` at 3 other points` where only the values were drawn afresh."""
    trials = {c.trial.number: c.trial for c in formulas if c.trial is not None}
    if not trials:
        return ""
    place = "shape" if any(trial.sizes for trial in trials.values()) else "point"
    return f" at {count(len(trials), f'other {place}')}"
