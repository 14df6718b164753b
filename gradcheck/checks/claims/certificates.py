"""Certificates: formulas that the exact oracle proves, at the case's own sizes and at those of every trial.

A proof needs no tolerance, and holds for all values of the inputs. So it also sees what numbers cannot: a formula
that is right at the numbers given and at no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradcheck.autograd import dtypes
from gradcheck.checks.closeness.tolerance import base, of_claim
from gradcheck.checks.context import Context
from gradcheck.checks.result import ClaimKind, Comparison
from gradcheck.facts import fact
from gradcheck.language.case import Case, Claim, StatedTolerance
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact.prove import Proof, prove

#: More op applications than this, over all points, are left to numbers alone.
MAX_WORK = 20_000


def applies(context: Context) -> bool:
    """Where formulas are to hold in general."""
    return context.can_be_judged and context.case.generalize is not None and bool(context.case.formulas)


def check(context: Context) -> Iterable[Comparison]:
    """Nothing new: formulas that passed everywhere get a certificate, or a refutation.

    One that is allowed to be off, by a tolerance of the case or of the run, is not refuted for being so.
    """
    case = context.case
    problems = [point.problem for point in (context.points.own, *context.points.trials)]
    claims = _passed_everywhere(case, context.found)
    if not claims or (len(case.graph) + len(case.let)) * (len(claims) + 1) * len(problems) > MAX_WORK:
        return ()
    proofs = [prove(problem, claims, problem.seed) for problem in problems]
    for number, (name, claim) in enumerate(claims):
        of_claim = [of_problem[number] for of_problem in proofs]
        lenient = _is_looser(case, name, context.options.tolerance)
        _amend(context, (name, claim.text), list(zip(of_claim, problems, strict=True)), lenient)
    return ()


def _amend(context: Context, key: tuple[str, str], proofs: Sequence[tuple[Proof, Problem]], lenient: bool) -> None:
    """Change the formula's comparison at the case's own numbers."""

    def is_it(c: Comparison) -> bool:
        return c.what is ClaimKind.FORMULA and c.trial is None and (c.tensor, c.formula) == key

    context.amend(is_it, lambda c: _judged(c, proofs, lenient))


def _passed_everywhere(case: Case, comparisons: Sequence[Comparison]) -> list[tuple[str, Claim]]:
    """Each formula, with its tensor, that passed wherever it was tried."""
    formulas = [c for c in comparisons if c.what is ClaimKind.FORMULA]
    failed = {(c.tensor, c.formula) for c in formulas if c.status != "passed"}
    own = {(c.tensor, c.formula) for c in formulas if c.trial is None} - failed
    listed = [(name, claim) for name, claims in case.formulas.items() for claim in claims]
    return [(name, claim) for name, claim in listed if (name, claim.text) in own]


def _is_looser(case: Case, tensor: str, run: StatedTolerance | None) -> bool:
    """Whether more is allowed than the dtype's own tolerance."""
    dtype = dtypes.BY_NAME[case.dtype]
    allowed, own = of_claim(case.tolerance, tensor, dtype, run), base(dtype)
    return allowed.rtol > own.rtol or allowed.atol > own.atol


def _judged(comparison: Comparison, proofs: Sequence[tuple[Proof, Problem]], lenient: bool) -> Comparison:
    for proof, problem in proofs:
        if proof.status == "refuted" and lenient:
            return comparison.noted(fact("within_tolerance_not_exact"))
        if proof.status == "refuted":
            return replace(
                comparison, status="failed", mismatch=fact("refuted_by_proof", sizes=tuple(problem.sizes.items()))
            )
    unproved = [proof for proof, _ in proofs if proof.status != "proved"]
    if unproved:
        return comparison.noted(fact("not_proved", why=unproved[0].why))
    decided = tuple(note for note in comparison.notes if note.kind != "branch_not_visited")
    return replace(comparison, certificate=_certificate(proofs), notes=decided)


def _certificate(proved: Sequence[tuple[Proof, Problem]]) -> Mapping[str, Any]:
    """As in the JSON: what was done, and how unlikely it is that a wrong formula passes it."""
    sizes = [dict(problem.sizes) for _, problem in proved]
    return {
        "method": "exact",
        "arithmetic": "dual numbers modulo primes below 2^31",
        "sizes": [one for i, one in enumerate(sizes) if one not in sizes[:i]],
        "trials": sum(proof.points for proof, _ in proved),
        "degree": max(proof.degree for proof, _ in proved),
        "bound": max(proof.bound for proof, _ in proved),
        "unknowns": sorted({name for proof, _ in proved for name in proof.uninterpreted}),
    }
