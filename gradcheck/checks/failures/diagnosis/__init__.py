"""Why a gradient is wrong: hypotheses, each confirmed by computing what the mistake would give.

`evidence.py` is what they are given, `catalogue.py` lists the kinds, the other modules hold the hypotheses by family,
`confirm.py` decides. Adding one is a function under `@hypothesis(kind)` in the module of its family.
"""

from __future__ import annotations

from gradcheck.checks.failures.diagnosis import accumulation, broadcast, centring, layout, precision, rules, scale
from gradcheck.checks.failures.diagnosis.catalogue import CATALOGUE, KINDS
from gradcheck.checks.failures.diagnosis.confirm import Diagnosis, confirmed
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess, Rule, Use

FAMILIES = (accumulation, broadcast, centring, layout, precision, rules, scale)

__all__ = ["CATALOGUE", "FAMILIES", "KINDS", "Diagnosis", "Evidence", "Guess", "Rule", "Use", "confirmed"]
