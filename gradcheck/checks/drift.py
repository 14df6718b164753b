"""Drift: two computations that agreed to the last digits some time ago, still agree within the tolerance, and no longer
to these digits. Something has changed, though nothing fails yet."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.facts import Fact, fact

#: So many times farther apart is drift: three digits, more than another order of summation costs.
DRIFT_FACTOR = 1_000.0


def agreements(found: CaseResult, known: Mapping[str, float]) -> dict[str, float]:
    """How near each claim of a case came at its own numbers, relatively, as a power of ten; what is `known` and has not
    changed by more than drift stays as it is, so that what is written down changes only where something has."""
    now = {name: _rounded(near) for name, near in _measured_agreements(found).items()}
    return {name: known[name] if _has_not_drifted(known.get(name), near) else near for name, near in now.items()}


def drifted_claims(found: CaseResult, known: Mapping[str, float]) -> tuple[Fact, ...]:
    """The claims that were `known` to come nearer."""
    return tuple(
        fact("has_drifted", claim=name, was=known[name], now=near)
        for name, near in _measured_agreements(found).items()
        if name in known and near > DRIFT_FACTOR * known[name]
    )


def _measured_agreements(found: CaseResult) -> dict[str, float]:
    """How near the claims come that hold, at worst, by what they are called; those that it is known of."""
    claims: dict[str, float] = {}
    for c in found.comparisons:
        if c.status == "passed" and c.agreement is not None and c.trial is None:
            name = _drift_name(c, found.seed)
            claims[name] = max(claims.get(name, 0.0), c.agreement)
    return claims


def _drift_name(c: Comparison, seed: int) -> str:
    """`gradient of x by core`, `formula of x: 2 * x`; with all that tells numbers of one run from those of another: who
    is asked, against whom, in which dtype, at which seed, as far as that is not as usual."""
    parts = [f"{c.what.replace('_', ' ')} of {c.tensor}"]
    parts += [f"after step {c.step + 1}"] if c.step else []
    parts += [f"by {c.engine}"] if c.engine not in ("", "case") else []
    parts += [f"against {c.reference}"] if c.reference not in ("", "case", "torch") else []
    parts += [f"in {c.dtype}"] if c.dtype != "float64" else []
    parts += [f"at seed {seed}"] if seed else []
    return " ".join(parts) + (f": {c.formula}" if c.formula else "")


def _rounded(near: float) -> float:
    return float(f"1e{math.ceil(math.log10(near) - 1e-9)}")


def _has_not_drifted(known: float | None, near: float) -> bool:
    return known is not None and known / DRIFT_FACTOR <= near <= known * DRIFT_FACTOR
