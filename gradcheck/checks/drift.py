"""Drift: two computations that agreed to the last digits some time ago, still agree within the tolerance, and no longer
to these digits. Something has changed, though nothing fails yet."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.facts import Fact, fact

#: A relative error this many times larger is drift. Another order of summation costs less.
DRIFT_FACTOR = 1_000.0


def agreements(found: CaseResult, known: Mapping[str, float]) -> dict[str, float]:
    """Return the agreement of each claim as a power of ten.

    A `known` value stays unless the claim has drifted, so that the file changes only then.
    """
    now = {name: _rounded(near) for name, near in _measured_agreements(found).items()}
    return {name: known[name] if _has_not_drifted(known.get(name), near) else near for name, near in now.items()}


def drifted_claims(found: CaseResult, known: Mapping[str, float]) -> tuple[Fact, ...]:
    """Return a fact for each claim that agrees much less than it did."""
    return tuple(
        fact("has_drifted", claim=name, was=known[name], now=near)
        for name, near in _measured_agreements(found).items()
        if name in known and near > DRIFT_FACTOR * known[name]
    )


def _measured_agreements(found: CaseResult) -> dict[str, float]:
    """Return the worst measured agreement of each passing claim, by name."""
    claims: dict[str, float] = {}
    for c in found.comparisons:
        if c.status == "passed" and c.agreement is not None and c.trial is None:
            name = _drift_name(c, found.seed)
            claims[name] = max(claims.get(name, 0.0), c.agreement)
    return claims


def _drift_name(c: Comparison, seed: int) -> str:
    """Return a claim's name in the file: `gradient of x by core`.

    Engine, reference, dtype and seed are included where they are not the usual ones.
    """
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
