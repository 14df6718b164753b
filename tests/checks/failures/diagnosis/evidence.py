"""Small evidence made by hand, and what one hypothesis makes of it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gradcheck.checks.claims.cotangents import operations_of
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Predict, Rule, matches
from gradcheck.checks.failures.gather_evidence import make_reference_pullback
from gradcheck.facts import Fact
from tests.checks.build import point_of


def rule(text: str, index: int = 0) -> Rule:
    """The rule of the op in the entry `out` of a case, for one of its tensors, with a random incoming gradient."""
    point = point_of(text)
    (application,) = [one for one in point.applications if one.owner == "out"]
    (operation,) = operations_of([application], 1)
    ask = make_reference_pullback(point.engines.reference, point.problem.dtype)
    wants = tuple(ask(application, operation.cotangents))
    return Rule(application, gradient_positions(application)[index], index, operation.cotangents, wants, ask)


def of_rule(known: Rule, got: Any = None) -> Evidence:
    """Evidence about one op alone: `got` in place of what is right, or None for no gradient."""
    want = known.right_gradients[known.index]
    assert want is not None
    return Evidence(None if got is None else np.asarray(got), want, rule=known)


def fitting(predict: Predict, evidence: Evidence) -> dict[Hashable, Fact]:
    """The guesses of one hypothesis that give what came out, by key."""
    with np.errstate(all="ignore"):
        return {g.key: g.fact for g in predict(evidence) if matches(g.predicted, evidence)}


def guessed(predict: Predict, evidence: Evidence) -> list[Hashable]:
    """The keys of all guesses of one hypothesis."""
    with np.errstate(all="ignore"):
        return [guess.key for guess in predict(evidence)]
