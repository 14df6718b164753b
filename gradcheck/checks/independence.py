"""Find formulas that equal the one derived from the core's own rules.

Such a formula is right, but not independent evidence for these rules. Two formulas are equal if they simplify to the
same expression.
"""

from __future__ import annotations

from dataclasses import replace

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.derivation import simplifier
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.checks.single_backward import pass_alone, sample_at
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.traverse import inline_steps
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients


def note_derived(result: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
    """Note each formula that equals the derived one, in one-pass cases."""
    if result.status != "passed" or not case.formulas or [step.action for step in case.steps] != ["backward"]:
        return result
    chosen = options.apply(case)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[chosen.dtype])), quiet():
        same = derived_claims(draw(chosen, options.seed))

    def noted(c: Comparison) -> Comparison:
        is_derived = c.what is ClaimKind.FORMULA and c.trial is None and (c.tensor, c.formula) in same
        return c.with_notes(fact("equals_derived")) if is_derived else c

    return replace(result, comparisons=tuple(map(noted, result.comparisons)))


def derived_claims(problem: Problem) -> set[tuple[str, str]]:
    """Return tensor and text of each formula that equals a derived one."""
    case = problem.case
    point = Point(pass_alone(problem, 0), Engines((), Core()))
    claims = [(name, claim) for name, listed in case.formulas.items() for claim in listed]
    try:
        known = {
            f"{expand} {name}": formula
            for expand in (False, True)
            for name, formula in derive_gradients(point.problem, expand=expand, most=None).items()
        }
        let = {name: claim.expr for name, claim in case.let.items()}
        stated = {f"claim {index}": inline_steps(claim.expr, let) for index, (_, claim) in enumerate(claims)}
        simple = simplifier(point.problem, [sample_at(point)], True).simplify({**known, **stated})
    except GradcheckError:  # what cannot be derived equals nothing
        return set()
    return {
        (name, claim.text)
        for index, (name, claim) in enumerate(claims)
        if any(simple[f"claim {index}"] == simple.get(f"{expand} {name}") for expand in (False, True))
    }
