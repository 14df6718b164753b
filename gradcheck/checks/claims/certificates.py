"""Certificates: formulas that the exact oracle proves, at the case's own sizes and at those of every trial.

A proof needs no tolerance, and holds for all values of the inputs. So it also sees what numbers cannot: a formula
that is right at the numbers given and at no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradcheck.autograd import dtypes
from gradcheck.checks.closeness.tolerance import base, of_claim
from gradcheck.checks.result import Comparison
from gradcheck.facts import Fact
from gradcheck.language.case import Case, Claim, Tolerance
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact.prove import Proof, prove

#: More op applications than this, over all points, are left to numbers alone.
MAX_WORK = 20_000


def certify(
    problems: Sequence[Problem], comparisons: Sequence[Comparison], override: Tolerance | None = None
) -> list[Comparison]:
    """The comparisons, those of formulas with a certificate or a refutation. `problems[0]` has the case's own numbers.

    Only formulas that passed everywhere are looked at: where numbers differ nothing is left to prove. One that is
    allowed to be off, by a tolerance of the case or of the run (`override`), is not refuted for being so.
    """
    case = problems[0].case
    claims = _standing(case, comparisons)
    if not claims or (len(case.graph) + len(case.let)) * (len(claims) + 1) * len(problems) > MAX_WORK:
        return list(comparisons)
    listed = [(name, claim) for name, claim, _ in claims]
    proofs = [prove(problem, listed, problem.seed) for problem in problems]
    changed = dict(enumerate(comparisons))
    for number, (_, _, place) in enumerate(claims):
        found = [of_problem[number] for of_problem in proofs]
        lenient = _is_looser(case, comparisons[place].tensor, override)
        changed[place] = _judged(comparisons[place], found, problems, lenient)
    return list(changed.values())


def _standing(case: Case, comparisons: Sequence[Comparison]) -> list[tuple[str, Claim, int]]:
    """Each formula that passed wherever it was heard, and the place of its comparison at the case's own numbers."""
    failed = {(c.tensor, c.formula) for c in comparisons if c.what == "formula" and c.status != "passed"}
    own = {
        (c.tensor, c.formula): place
        for place, c in enumerate(comparisons)
        if c.what == "formula" and c.trial is None and (c.tensor, c.formula) not in failed
    }
    return [
        (name, claim, own[name, claim.text])
        for name, listed in case.formulas.items()
        for claim in listed
        if (name, claim.text) in own
    ]


def _is_looser(case: Case, tensor: str, override: Tolerance | None) -> bool:
    """Whether more is allowed than the dtype's own tolerance."""
    dtype = dtypes.BY_NAME[case.dtype]
    allowed, own = of_claim(case.tolerance, tensor, dtype, override), base(dtype)
    return allowed.rtol > own.rtol or allowed.atol > own.atol


def _judged(comparison: Comparison, proofs: Sequence[Proof], problems: Sequence[Problem], lenient: bool) -> Comparison:
    for proof, problem in zip(proofs, problems, strict=True):
        if proof.status == "refuted" and lenient:
            note = "within the tolerance allowed, but not exact: the exact oracle refutes it"
            return replace(comparison, notes=(*comparison.notes, note))
        if proof.status == "refuted":
            sizes = ", ".join(f"{name} = {size}" for name, size in problem.sizes.items())
            where = f" (at {sizes})" if sizes else ""
            message = f"holds at these numbers, but not for all values{where}: the exact oracle refutes it"
            return replace(comparison, status="failed", message=message)
    proved = [(proof, problem) for proof, problem in zip(proofs, problems, strict=True) if proof.status == "proved"]
    if len(proved) < len(proofs):
        why = next(proof.why for proof in proofs if proof.status != "proved")
        return replace(comparison, notes=(*comparison.notes, f"not proved: {_in_words(why)}"))
    return replace(comparison, certificate=_certificate(proved))


def _in_words(why: Fact | None) -> str:
    """FACT BOUNDARY: goes as soon as notes are facts; the sentences stand in `reports/phrases/oracles.py`."""
    if why is None:
        return ""
    data = dict(why.data)
    if why.kind == "exact_uninterpreted":
        data["functions"] = ", ".join(data["functions"])
    return {
        "exact_dtype": "{dtype} is no field of real numbers",
        "exact_steps": "its steps are more than backward passes",
        "exact_error": "{message}",
        "exact_uninterpreted": "it differs where {functions} may take any value",
        "exact_degree": "its degree is {degree:,}, too large for {points} points",
        "exact_core_gradient": "the core's own gradient of {tensor} is not proved",
    }[why.kind].format(**data)


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
