"""All that a case states about its own numbers, heard step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.checks.claims.stated import CheckHost, Court, aligned, check, formula, known
from gradcheck.checks.closeness.conditioning import Noise
from gradcheck.checks.closeness.rounding import widen, with_noise, with_slack
from gradcheck.checks.ground import Ground
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.language.case import Claim, Tolerance
from gradcheck.language.problem import Problem


def hear(
    problem: Problem,
    evaluations: Mapping[str, Evaluation],
    reference: str,
    noise: Noise,
    override: Tolerance | None = None,
) -> list[Comparison]:
    """Comparisons of the claims in steps, then of those at the top level, which are about the last step."""
    case = problem.case
    found: list[Comparison] = []
    steps = len(evaluations[reference].states)
    for index in range(steps):
        step = case.steps[index]
        last = index == len(case.steps) - 1
        stated = step.values or step.expected or step.checks
        if not stated and not (last and (case.values or case.expected or case.formulas or case.checks)):
            continue
        court = court_of(problem, evaluations[reference], index, override)
        states = {name: e.states[index] for name, e in evaluations.items() if index < len(e.states) and _was_able(e)}
        found += widen(known(court, step.values, step.expected, states), noise)
        found += [hear_check(court, claim, noise) for claim in step.checks]
        if last:
            found += widen(known(court, case.values, case.expected, states), noise)
            found += hear_general(court, noise)
    return found


def _was_able(evaluation: Evaluation) -> bool:
    """Whether the engine could express all that was asked; else its last state says nothing."""
    return evaluation.error is None or evaluation.error.kind != "unsupported"


def court_of(
    problem: Problem,
    evaluation: Evaluation,
    step: int,
    override: Tolerance | None,
    trial: Mapping[str, object] | None = None,
) -> Court:
    """Where claims after this step are heard."""
    ground = Ground(problem, evaluation.states[step])
    return Court(problem, ground, step, evaluation.engine, override, trial)


def hear_general(court: Court, noise: Noise) -> Iterator[Comparison]:
    """The claims that must hold at any numbers: formulas and checks at the top level."""
    case = court.problem.case
    for name, claims in case.formulas.items():
        for claim in claims:
            yield hear_formula(court, name, claim, noise)
    for claim in case.checks:
        yield hear_check(court, claim, noise)


def hear_formula(court: Court, name: str, claim: Claim, noise: Noise, what: str = "formula") -> Comparison:
    """One formula; where it fails, once more with the allowance for rounding in it and in the gradient."""
    found = formula(court, name, claim, what)
    if found.status != "failed" or found.mask is None or (what != "formula" and not noise.may_explain(found)):
        return found

    def difference(ground: Ground) -> list[np.ndarray]:
        got, want = aligned(ground.array_of(claim.expr), ground.gradients[name])
        return [got - want]

    moved = noise.of_claim(court.step, difference)
    known = moved[0] if moved else None
    if what == "formula":
        return with_noise(found, noise, known)
    return with_slack(found, noise.rounding.allow(known), noise.why_not)


def hear_check(court: Court, claim: Claim, noise: Noise) -> Comparison:
    """One check; where it fails, once more with the allowance for rounding on both sides of each `==`."""
    found = check(court, claim)
    if found.status != "failed" or not noise.may_explain(found):
        return found

    def differences(ground: Ground) -> list[np.ndarray]:
        host = CheckHost(lambda left, right, index: np.ones(right.shape, bool), ground.host)
        ground.value_of(claim.expr, host)
        return [left - right if left.dtype.kind in "fc" else np.zeros(left.shape) for left, right in host.sides]

    moved = noise.of_claim(court.step, differences)
    if not moved:
        return found
    again = check(court, claim, lambda index: noise.rounding.allow(moved[index]) if index < len(moved) else None)
    if again.status != "passed":
        return found
    return with_note(again, "within rounding noise, beyond the base tolerance")


def with_note(comparison: Comparison, note: str) -> Comparison:
    """The same with one more note."""
    return replace(comparison, notes=(*comparison.notes, note))
