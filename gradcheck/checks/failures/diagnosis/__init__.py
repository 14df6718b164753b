"""Diagnoses: hypotheses about mistakes, confirmed by what each would give.

`evidence` is their input. `catalogue` lists them and decides which hold. The other modules define them, by family.
Nothing here knows engines or cases, or makes sentences: a guess carries a Fact. A new mistake is a function under
`@hypothesis(kind)` in the module of its family, a row of `failures/mistakes`, and a phrase for its Fact; a new family
is a module imported here.
"""

from __future__ import annotations

from gradcheck.checks.failures.diagnosis import accumulation_mistakes, number_mistakes, rule_mistakes, shape_mistakes
from gradcheck.checks.failures.diagnosis.catalogue import CATALOGUE, matching_diagnoses
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess, Rule, Use

FAMILIES = (accumulation_mistakes, number_mistakes, rule_mistakes, shape_mistakes)

__all__ = ["CATALOGUE", "FAMILIES", "Evidence", "Guess", "Rule", "Use", "matching_diagnoses"]
