"""Diagnoses: hypotheses about mistakes, confirmed by what each would give.

`catalogue` defines the evidence that is their input, lists them and decides which hold. The other modules define them,
by family. Nothing here knows engines or cases, or makes sentences: a guess carries a Fact. A new mistake is a function
under `@hypothesis(kind)` in the module of its family, a row of `failures/mistakes`, and a phrase for its Fact; a new
family is a module imported here.
"""

from __future__ import annotations

from gradcheck.checks.failures.diagnosis import accumulation_mistakes, number_mistakes, rule_mistakes, shape_mistakes
from gradcheck.checks.failures.diagnosis.catalogue import CATALOGUE, Evidence, Guess, Rule, Use, matching_diagnoses

FAMILIES = (accumulation_mistakes, number_mistakes, rule_mistakes, shape_mistakes)

__all__ = ["CATALOGUE", "FAMILIES", "Evidence", "Guess", "Rule", "Use", "matching_diagnoses"]
