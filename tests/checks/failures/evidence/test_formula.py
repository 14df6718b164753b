"""Evidence about a formula: what it comes to, and what the gradient is without each path."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.evidence.formula import evidence_of_formula
from gradcheck.facts import fact
from tests.checks.build import context_of

REUSE = """
    inputs: {a: [1.0, 2.0], b: [3.0, 1.0]}
    graph: {d: a * b, e: a + b, f: d * e}
    backward: {f: [1.0, 2.0]}
    formulas: {a: grad(d) * b, b: grad(d) @ a}
"""


def test_a_formula_is_known_with_its_paths_at_several_points() -> None:
    context = context_of(REUSE)
    (claim,) = context.case.formulas["a"]
    found = list(evidence_of_formula("a", claim, context.points, context.points.own))
    assert len(found) == 1 + MORE_POINTS
    for evidence in found:
        assert np.allclose(evidence.cut[fact("path", entry="e")], evidence.got)  # type: ignore[arg-type]
        assert not np.allclose(evidence.got, evidence.want)  # type: ignore[arg-type]
        assert {when.kind for when in evidence.reseeded} == {"ones_for"}


def test_a_formula_of_another_shape_is_evidence_too() -> None:
    context = context_of(REUSE)
    (claim,) = context.case.formulas["b"]
    evidence = next(iter(evidence_of_formula("b", claim, context.points, context.points.own)))
    assert evidence.got is not None
    assert evidence.got.shape == ()


def test_of_several_passes_only_the_numbers_are_known() -> None:
    context = context_of(REUSE.replace("backward: {f: [1.0, 2.0]}", "steps: [{backward: {f: [1, 2]}}, {zero_grad: b}]"))
    (claim,) = context.case.formulas["a"]
    evidence = next(iter(evidence_of_formula("a", claim, context.points, context.points.own)))
    assert (dict(evidence.cut), evidence.rule) == ({}, None)
