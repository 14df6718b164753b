"""In which way a case fails, so that a smaller one can be held to failing in the same way and in no other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, Comparison

#: What says most about a failure first: a wrong rule explains a wrong gradient, never the reverse.
_ORDER = ("raises", "value", "expected_value", "node", "gradient", "expected", "formula", "check", "wrong_formula")
#: Claims of the file itself; whatever is changed, they must stay what they are.
CLAIMS = ("expected_value", "expected", "formula", "check", "wrong_formula")
#: What cannot be tried over and over.
_HOPELESS = ("timeout", "memory")
_OP = re.compile(r"([\w.]+)(?:'s tensor \d+| alone\b)")


@dataclass(frozen=True, slots=True)
class Way:
    """`what` failed and `why`, between whom; for a claim of the file also which one it was."""

    what: str
    why: str
    engine: str = ""
    tensor: str = ""
    formula: str = ""

    @property
    def is_claim(self) -> bool:
        """Whether it is the file's own statement that fails, and not an engine."""
        return self.what in CLAIMS


def way_of(result: CaseResult) -> Way | None:
    """None for a case that does not fail, or in no way that could be tried again."""
    if result.status not in ("failed", "crashed"):
        return None
    if result.errors:
        kind, message = result.errors[0].kind, result.errors[0].message
        return (
            None
            if kind in _HOPELESS
            else Way("error", f"{kind} {message.partition(':')[0] if kind == 'crash' else ''}")
        )
    lead = lead_of(result)
    if lead is None:
        return None
    claim = lead.what in CLAIMS
    return Way(lead.what, _why(lead), lead.engine, lead.tensor if claim else "", lead.formula if claim else "")


def lead_of(result: CaseResult) -> Comparison | None:
    """The failed comparison that says most, the case's own numbers before those of trials."""
    failed = [c for c in result.comparisons if c.status == "failed" and c.what in _ORDER]
    return min(failed, key=lambda c: (_ORDER.index(c.what), c.trial is not None), default=None)


def _why(c: Comparison) -> str:
    """In a word: the op whose rule is wrong, the kind of error, or what kind of difference there is."""
    if c.what == "node":
        found = _OP.search(c.message)
        return found[1] if found else ""
    if c.mask is not None:
        return "numbers"
    return " ".join(re.findall(r"[a-z_]+", c.message)[:3])
