"""Gradients that torch has wrong by ops alone, where the numeric oracle cannot tell in the graph."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.reference_op_errors import ReferenceOpErrors
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.sampling import draw
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed, those
from tests.conftest import WithRules
from tests.from_text import case_of

#: Torch divides by 6 in single precision; beside the largest element differences see nothing of the smaller ones, and a
#: determinant has no forward in high precision.
GRAPH = """
    inputs: {x: [[0.3, 3.1], [-0.4, 3.0]]}
    constants: {c: [[1.0, 0.0], [0.0, 1.0]]}
    graph: {h: exp(exp(x)), y: (h - 1) * hardsigmoid(h - 1), loss: y.sum() * linalg.det(c)}
"""
FORMULA = '    formulas: {h: "hardsigmoid(h - 1) + (h - 1) * where(abs(h - 1) < 3, 1/6, 0)"}\n'


def test_where_nobody_can_tell_the_op_alone_tells(check: Check) -> None:
    case = check(GRAPH + FORMULA, seed=0)
    assert case.status == "passed"
    (own,) = [c for c in those(case, "gradient") if c.tensor == "x" and c.trial is None]
    assert say(own.verdict).startswith("no failure, torch is wrong here: by its hardsigmoid alone, where ")


@pytest.mark.parametrize("by", [1e-9, 1e-3])
def test_another_mistake_beside_it_fails(check: Check, with_rules: WithRules, by: float) -> None:
    with_rules("exp", lambda g, y, x: g * y * (1 + by))
    assert {c.tensor for c in failed(check(GRAPH), "gradient")} >= {"x"}


def test_a_wrong_formula_fails(check: Check) -> None:
    assert check(GRAPH + FORMULA.replace("1/6", "1/6 * 1.00000001"), corrected=False).status == "failed"


@pytest.mark.parametrize("side", ["engine", "reference"])
def test_what_the_op_alone_does_not_make_is_nobodys(side: str) -> None:
    """Of the same gradients, one off by more than that op's part."""
    engines = Engines((Core(),), Torch())
    point = Point(draw(case_of(GRAPH)), engines)
    blamed = fact("reference_wrong", reference="torch", what=fact("stands_alone"))

    def judge(c: Comparison) -> Comparison:
        return Comparison(c.subject, "passed", verdict=blamed, operation=c.operation)

    arrays = [point.evaluation(engine).states[0].gradients["x"] for engine in (Core(), Torch())]
    subject = Subject(ClaimKind.GRADIENT, "x", engine="core", reference="torch")

    def told(got: np.ndarray | None, want: np.ndarray | None) -> object:
        c = Comparison(subject, "failed", rtol=1e-10, got_array=got, want_array=want)
        return ReferenceOpErrors(point, None, judge).verdict(c, None)

    got, want = arrays
    assert got is not None
    assert want is not None
    assert told(got, want) is not None
    assert told(*((got * 1.0001, want) if side == "engine" else (got, want * 1.0001))) is None
