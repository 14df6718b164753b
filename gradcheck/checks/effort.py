"""How much is done to make failing cases smaller; apart from the work itself, which most runs need not import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """How many failing cases are shrunk, in how many seconds each and together; and whether those that fail by what
    their file claims are too, of which only sizes and numbers can be made smaller."""

    cases: int
    seconds: float
    together: float
    claims: bool


#: What is done unasked, and what `--shrink` does.
QUICK, THOROUGH = Effort(3, 0.5, 1.0, claims=False), Effort(1_000, 10.0, 600.0, claims=True)
