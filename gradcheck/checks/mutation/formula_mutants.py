"""Mutants of a case's derivations: each must make the case fail, unless it changes no number anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradcheck.autograd.dtypes import real_of
from gradcheck.checks.claims.formulas import check_general
from gradcheck.checks.closeness.tolerance import of_claim
from gradcheck.checks.mutation.formula_mutations import mutations_of
from gradcheck.checks.mutation.point_set import PointSet
from gradcheck.checks.points import Point
from gradcheck.checks.power import Mutant
from gradcheck.facts import fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.printer import to_text
from gradcheck.oracles.exact.prove import prove

#: A factor this far from 1 must be seen, or a few times the tolerance of the claim where that is coarser.
_FACTOR, _TOLERANCES = 1e-3, 10.0


def formula_mutants(points: PointSet) -> Iterator[Mutant | None]:
    """Every mutation of the formulas, and of the steps that they are derived in; None for one that changes nothing."""
    case = points.case
    for name, claims in case.formulas.items():
        for claim in claims:
            for kind, wrong in mutations_of(claim.expr, _factor(points, name)):
                mutated = replace(case, formulas={name: (_claim(wrong),)}, checks=())
                caught_by = evidence(points, mutated)
                where = fact("in_formula", tensor=name, formula=to_text(wrong))
                yield None if caught_by is None else Mutant(kind, where, caught_by)
    if not (case.formulas or case.checks):
        return
    for name, claim in case.let.items():
        for kind, wrong in mutations_of(claim.expr, _factor(points, "")):
            caught_by = evidence(points, replace(case, let={**case.let, name: _claim(wrong)}))
            where = fact("in_step", name=name, formula=to_text(wrong))
            yield None if caught_by is None else Mutant(kind, where, caught_by)


def _factor(points: PointSet, name: str) -> float:
    """The smallest factor that must be seen in the formula for a tensor; of "", in a step."""
    gradient = points.own.want.states[-1].gradients.get(name)
    dtype = points.own.problem.dtype if gradient is None else gradient.dtype
    tolerance = of_claim(points.case.tolerance, name, real_of(dtype), points.tolerance)
    return 1 + max(_FACTOR, _TOLERANCES * (tolerance.rtol + tolerance.atol))


def evidence(points: PointSet, mutated: Case) -> str | None:
    """What shows that the case's formulas, or checks, are wrong: its own numbers, a trial, or a proof. Empty where
    nothing does; None where nothing is wrong at unseen points either."""
    if _fails(points, points.own, mutated):
        return "formula"
    if any(_fails(points, point, mutated) for point in points.trials):
        return "trial"
    if not any(_fails(points, point, mutated) for point in points.unseen):
        return None
    own = points.own.problem
    claims = [(name, claim) for name, listed in mutated.formulas.items() for claim in listed]
    proofs = prove(replace(own, case=mutated), claims, own.seed)
    return "proof" if any(proof.status == "refuted" for proof in proofs) else ""


def _fails(points: PointSet, point: Point, mutated: Case) -> bool:
    """Whether a formula, or a check that steps lead to, would not pass here."""
    if not point.is_complete:
        return False
    return any(c.status != "passed" for c in check_general(point.claiming(mutated), points.tolerance))


def _claim(expr: Expr) -> Claim:
    return Claim.of(expr)
