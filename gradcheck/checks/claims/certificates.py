"""Certificates: formulas that the exact oracle proves at all sizes tried.

A proof needs no tolerance and holds for all values of the inputs. It also finds formulas that are right only at the
numbers given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.formulas import difference_of, formula_allowance
from gradcheck.checks.claims.near_misses import near_miss
from gradcheck.checks.closeness.tolerance import base, claim_tolerance, modulus
from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison
from gradcheck.checks.reuse.cached_reference import cached_answer, claims_key
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim, StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import is_general

if TYPE_CHECKING:
    from gradcheck.oracles.exact.prove import Proof

#: With more op applications over all points, nothing is proved.
MAX_WORK = 20_000
#: A difference is small below this, relative to 1 and the largest element.
_SMALL = 1e-6


def applies(context: Context) -> bool:
    """Return whether formulas must hold in general."""
    case = context.case
    return is_general(case) and bool(case.formulas or case.wrong_formulas) and context.can_be_checked


def check(context: Context) -> Iterable[Comparison]:
    """Add certificates and refutations to formulas that passed.

    A formula that is off by rounding passes if it is proved. One within a looser tolerance of the case or run is not
    refuted. A wrong formula that survived the numbers may be refuted too."""
    certify(context, _passed_or_rounded(context))
    _refute_survivors(context)
    return ()


def _refute_survivors(context: Context) -> None:
    """Refute wrong formulas that are off by less than the tolerance."""
    survived = {(c.tensor, c.formula) for c in context.found if c.mismatch and c.mismatch.kind == "not_refuted"}
    listed = [(name, claim) for name, claims in context.case.wrong_formulas.items() for claim in claims]
    strict = [(n, c) for n, c in listed if not _is_looser(context.case, n, context.options.tolerance)]
    for proofs, problem in proofs_of(context, [(n, c) for n, c in strict if (n, c.text) in survived]):
        refuted = {key for key, proof in proofs.items() if key in survived and proof.status == "refuted"}
        how = fact("refuted", how=fact("refuted_by_proof", sizes=tuple(problem.sizes.items())))
        context.amend(
            lambda c: c.what is ClaimKind.WRONG_FORMULA and c.status == "failed" and (c.tensor, c.formula) in refuted,  # noqa: B023
            lambda c: replace(c, status="passed", mismatch=how),  # noqa: B023
        )


def certify_failed(context: Context, failed: Collection[tuple[str, str]]) -> None:
    """Certify formulas that failed and were excused meanwhile."""
    if applies(context):
        claims = _passed_or_rounded(context)
        certify(context, [(name, claim) for name, claim in claims if (name, claim.text) in failed])


def certify(context: Context, claims: Sequence[tuple[str, Claim]]) -> None:
    """Prove these formulas at the sizes of every trial."""
    claims = [(name, claim) for name, claim in claims if _has_elements(context, name)]
    proofs = proofs_of(context, claims)
    for name, claim in claims if proofs else ():
        lenient = _is_looser(context.case, name, context.options.tolerance)
        of_it = [(found[name, claim.text], problem) for found, problem in proofs if (name, claim.text) in found]
        _amend(context, (name, claim), of_it, lenient)


def _has_elements(context: Context, name: str) -> bool:
    """Return whether a gradient has elements at any of the points."""
    points = (point for point in (context.points.own, *context.points.trials) if point.is_complete)
    gradients = (point.scope(point.last_step).gradients.get(name) for point in points)
    return any(gradient is None or gradient.size for gradient in gradients)


def proofs_of(
    context: Context, claims: Sequence[tuple[str, Claim]]
) -> list[tuple[dict[tuple[str, str], Proof], Problem]]:
    """Return the proofs of each formula by problem; empty if too much work.

    Known proofs are reused. A failed formula is not proved at further problems once it is unproved at one."""
    case = context.case
    problems = [point.problem for point in (context.points.own, *context.points.trials)]
    if not claims or (len(case.graph) + len(case.let)) * (len(claims) + 1) * len(problems) > MAX_WORK:
        return []
    failed = {(c.tensor, c.formula) for c in context.found if c.what is ClaimKind.FORMULA and c.is_failing}
    given_up: set[tuple[str, str]] = set()
    for problem in problems:
        known = context.proofs.setdefault(id(problem), {})
        unproved_claims = [(n, claim) for n, claim in claims if (n, claim.text) not in known.keys() | given_up]
        if unproved_claims:
            question, ask = partial(claims_key, problem, unproved_claims), partial(_prove, problem, unproved_claims)
            found: list[Proof] = cached_answer(context.engines.reference, question, ask)
            known |= {(name, claim.text): proof for (name, claim), proof in zip(unproved_claims, found, strict=True)}
        given_up |= {key for key, proof in known.items() if key in failed and proof.status != "proved"}
    return [(context.proofs[id(problem)], problem) for problem in problems]


def _prove(problem: Problem, claims: Sequence[tuple[str, Claim]]) -> list[Proof]:
    from gradcheck.oracles.exact.prove import prove  # not needed without formulas, or with cached proofs

    return prove(problem, claims, problem.seed)


def proved_formulas(context: Context, failed: Collection[tuple[str, str]]) -> list[Claim]:
    """Return formulas, not `failed`, that are proved without a condition."""
    listed = [(name, claim) for name, claims in context.case.formulas.items() for claim in claims]
    unproved_claims = [(name, claim) for name, claim in listed if (name, claim.text) not in failed]
    proofs = [found for found, _ in proofs_of(context, unproved_claims)] if applies(context) else []

    def holds(key: tuple[str, str]) -> bool:
        of_it = [found.get(key) for found in proofs]
        return all(proof is not None and proof.status == "proved" and not proof.conditions for proof in of_it)

    return [claim for name, claim in unproved_claims if proofs and holds((name, claim.text))]


def _amend(
    context: Context, formula: tuple[str, Claim], proofs: Sequence[tuple[Proof, Problem]], lenient: bool
) -> None:
    """Change a formula's comparison at the own numbers; excuse rounding."""
    key = (formula[0], formula[1].text)

    def is_it(c: Comparison) -> bool:
        return c.what is ClaimKind.FORMULA and (c.tensor, c.formula) == key

    off = [c for c in context.found if is_it(c) and c.is_failing]
    if off:
        if any(proof.status != "proved" for proof, _ in proofs) or not all(_may_be_rounding(context, c) for c in off):
            return
        context.amend(lambda c: is_it(c) and c.is_failing, lambda c: _pass_by_rounding(context, c))
    verdicts = [c.verdict for c in context.found if is_it(c) and c.verdict is not None]
    repeated = next((verdict for verdict in verdicts if verdict.kind == "repeats_reference"), None)
    unproved = not lenient and any(proof.status == "unsupported" for proof, _ in proofs)
    missed = near_miss(context, *formula) if unproved and not repeated else None
    context.amend(
        lambda c: is_it(c) and c.trial is None,
        lambda c: c.with_notes(repeated) if repeated else _with_proofs(c, proofs, lenient, missed),
    )


def _passed_or_rounded(context: Context) -> list[tuple[str, Claim]]:
    """Return formulas that passed everywhere, or may be off by rounding."""
    first_off: dict[tuple[str, str], Comparison] = {}
    for c in context.found:
        if c.what is ClaimKind.FORMULA and c.is_failing:
            first_off.setdefault((c.tensor, c.formula), c)
    failed = {key for key, c in first_off.items() if not _may_be_rounding(context, c)}
    own = {(c.tensor, c.formula) for c in context.found if c.what is ClaimKind.FORMULA and c.trial is None} - failed
    listed = [(name, claim) for name, claims in context.case.formulas.items() for claim in claims]
    return [(name, claim) for name, claim in listed if (name, claim.text) in own]


def _may_be_rounding(context: Context, c: Comparison) -> bool:
    """Return whether rounding may explain an error; at a kink it may not."""
    if c.status == "undecided":
        return c.mismatch is None or c.mismatch.kind != "kinks_not_searched_further"
    if c.verdict is not None:  # not a subgradient
        return False
    if c.mask is None or c.got_array is None or not np.isfinite(wide(c.got_array)[c.mask]).all():
        return False
    if not context.options.explained and not _is_small(c):  # kinks were not searched
        return False
    claim = next(claim for claim in context.case.formulas[c.tensor] if claim.text == c.formula)
    point = context.points.at(c.trial)
    is_moved = point.conditioning.rough_rounding.moves_claim(c, difference_of(c.tensor, claim))
    if is_moved is not None:
        return is_moved
    moves = formula_allowance(point, c.step, c.tensor, claim)
    return moves is not None and moves.shape == c.mask.shape and bool((moves[c.mask] > 0).all())


def _is_small(c: Comparison) -> bool:
    assert c.got_array is not None
    got, want = wide(c.got_array), np.zeros(()) if c.want_array is None else wide(c.want_array)
    return bool(np.all(np.abs(got - want) <= _SMALL * (1 + np.abs(want).max(initial=0.0))))


def _pass_by_rounding(context: Context, c: Comparison) -> Comparison:
    """Return it as passed, with a note on the side that rounds more."""
    note = fact("off_by_rounding", who=_who_is_off(context, c), by=modulus((c.got or 0) - (c.want or 0)))
    return c.without_numbers("passed", mismatch=None, verdict=None).with_notes(note)


def _who_is_off(context: Context, c: Comparison) -> str:
    """Return the reference, or "" if another engine agrees with it."""
    for name, evaluation in context.points.at(c.trial).evaluations().items():
        gradient = evaluation.states[c.step].gradients.get(c.tensor) if c.step < len(evaluation.states) else None
        if name == c.reference or gradient is None or c.worst_index is None:
            continue
        other = complex(wide(gradient)[c.worst_index])
        if not modulus(other - (c.got or 0)) < modulus(other - (c.want or 0)):
            return ""
    return c.reference


def _is_looser(case: Case, tensor: str, run: StatedTolerance | None) -> bool:
    dtype = dtypes.BY_NAME[case.dtype]
    allowed, own = claim_tolerance(case.tolerance, tensor, dtype, run), base(dtype)
    return allowed.rtol > own.rtol or allowed.atol > own.atol


def _with_proofs(
    comparison: Comparison, proofs: Sequence[tuple[Proof, Problem]], lenient: bool, missed: Fact | None
) -> Comparison:
    for proof, problem in proofs:
        if proof.status == "refuted" and lenient:
            return comparison.with_notes(fact("within_tolerance_not_exact"))
        if proof.status == "refuted":
            refuted = fact("refuted_by_proof", sizes=tuple(problem.sizes.items()))
            return comparison.without_numbers("failed", mismatch=refuted, verdict=None, certificate=None)
    if missed is not None:
        return comparison.without_numbers("failed", mismatch=missed, verdict=None, certificate=None)
    unproved = [proof for proof, _ in proofs if proof.status != "proved"]
    if unproved:
        return comparison.with_notes(fact("not_proved", why=unproved[0].unsupported_reason))
    decided = tuple(note for note in comparison.notes if note.kind not in ("branch_not_visited", "sides_not_searched"))
    if comparison.status != "passed":  # at a kink, which has its own certificate
        return replace(comparison, notes=decided)
    return replace(comparison, certificate=_certificate(proofs), notes=decided)


def _fixed_in_proof(proved: Sequence[tuple[Proof, Problem]]) -> dict[str, Any]:
    """Return constants, sizes and incoming gradients that the proofs fix."""
    case = proved[0][1].case
    sizes = {name: {problem.sizes[name] for _, problem in proved} for name in proved[0][1].sizes}
    held = {
        "constants": [n for n, value in case.constants.items() if value.expr is None and n not in case.shapes],
        "sizes": {name: min(values) for name, values in sizes.items() if len(values) == 1},
        "incoming": any(not proof.for_any_incoming for proof, _ in proved),
    }
    return {key: what for key, what in held.items() if what}


def _certificate(proved: Sequence[tuple[Proof, Problem]]) -> Mapping[str, Any]:
    sizes = [dict(problem.sizes) for _, problem in proved]
    return {
        "method": "exact",
        "arithmetic": "dual numbers modulo primes below 2^31",
        "sizes": [one for i, one in enumerate(sizes) if one not in sizes[:i]],
        "trials": sum(proof.points for proof, _ in proved),
        "degree": max(proof.degree for proof, _ in proved),
        "bound": max(proof.bound for proof, _ in proved),
        "where": list(dict.fromkeys(condition for proof, _ in proved for condition in proof.conditions)),
        "held": _fixed_in_proof(proved),
        "unknowns": sorted({name for proof, _ in proved for name in proof.uninterpreted}),
    }
