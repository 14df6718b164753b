"""Why a gradient is wrong: hypotheses, each confirmed by computing what the mistake would give.

`evidence` is what they are given, `catalogue` lists the kinds of mistakes and decides which hypotheses hold; the other
modules hold the hypotheses by family. Nothing here knows engines, cases or where the evidence comes from, and
nothing makes a sentence: a guess carries a Fact, whose phrase stands in `reports/phrases/diagnoses`.

A new mistake is a function under `@hypothesis(kind)` in the module of its family; a new family is a module that is
imported here.
"""

from __future__ import annotations

from gradcheck.checks.failures.diagnosis import accumulation_mistakes, number_mistakes, rule_mistakes, shape_mistakes
from gradcheck.checks.failures.diagnosis.catalogue import CATALOGUE, matching_diagnoses
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess, Rule, Use

FAMILIES = (accumulation_mistakes, number_mistakes, rule_mistakes, shape_mistakes)

__all__ = ["CATALOGUE", "FAMILIES", "Evidence", "Guess", "Rule", "Use", "matching_diagnoses"]
