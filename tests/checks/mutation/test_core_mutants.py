"""Mutants of the core: what catches them, and which are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gradcheck.autograd.backward import Pull
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.mutation.core_mutants import changes_something, core_mutants, evidence, same_gradients
from gradcheck.checks.mutation.core_mutation import Mutation, Shares
from gradcheck.checks.mutation.mutant_core import CoverageCore, MutantCore
from gradcheck.checks.mutation.point_set import PointSet
from gradcheck.checks.mutation.rule_mutations import rule_mutations
from gradcheck.checks.mutation.sweep_mutations import PASSES_OVERWRITTEN
from gradcheck.checks.options import Options, engines_of
from gradcheck.facts import fact
from tests.from_text import case_of


def points_of(text: str) -> tuple[PointSet, CoverageCore]:
    options = Options()
    points = PointSet(case_of(text), options, engines_of(options))
    right = CoverageCore()
    points.own.evaluation(right)
    return points, right


def mutation_of(right: CoverageCore, kind: str, op: str) -> Mutation:
    return next(m for m in rule_mutations(list(right.applied)) if m.kind.kind == kind and m.where["op"] == op)


def test_a_gradient_shows_it() -> None:
    points, right = points_of("{inputs: {x: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}")
    assert evidence(points, mutation_of(right, "rule_negated", "tanh")) == "gradient"


def test_what_the_graph_hides_shows_in_the_op_alone() -> None:
    """Multiplied by zero, the gradient is right whatever tanh's rule says."""
    points, right = points_of("{inputs: {x: [1, 2]}, graph: {y: tanh(x) * 0, loss: y.sum()}}")
    assert evidence(points, mutation_of(right, "rule_negated", "tanh")) == "node"


def test_what_these_sizes_hide_shows_in_a_trial() -> None:
    """A transpose of one number is none."""
    points, right = points_of("""
        dims: {n: 1}
        inputs: {x: "randn(n, n)"}
        graph: {y: "x.T * x", loss: (y * y).sum()}
        generalize: {trials: 2, dims: {n: [2, 3]}}
    """)
    assert evidence(points, mutation_of(right, "rule_transposed", "T")) == "trial"


def test_an_equivalent_mutation_changes_nothing_anywhere() -> None:
    points, right = points_of("{inputs: {x: 'randn(3, 3)'}, graph: {loss: x.sum()}}")
    assert not changes_something(points, mutation_of(right, "rule_transposed", "sum"), right)
    assert changes_something(points, mutation_of(right, "rule_negated", "sum"), right)


def test_only_several_passes_can_overwrite_each_other() -> None:
    one, right = points_of("{inputs: {x: [1, 2]}, graph: {y: x.sum()}}")
    assert all(m is None or m.kind != PASSES_OVERWRITTEN.kind for m in core_mutants(one, right))
    two, right = points_of("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, steps: [{backward: y}, {backward: y}]}")
    assert any(m is not None and m.kind == PASSES_OVERWRITTEN.kind for m in core_mutants(two, right))


def scaled(factor: float) -> Mutation:
    """All that tanh hands down, times a factor."""

    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        def wrong(tensor: Tensor, gradient: np.ndarray) -> Shares:
            is_tanh = tensor.creation_op is TABLE["tanh"]
            return [(creator, factor * share if is_tanh else share) for creator, share in pull(tensor, gradient)]

        return wrong

    return Mutation(fact("rule_scaled"), fact("in_rule", op="tanh", argument="input"), wrap)


@pytest.mark.parametrize(("factor", "same"), [(1.0, True), (1 + 1e-15, True), (1 + 1e-12, False)])
def test_the_same_up_to_the_last_digits(factor: float, same: bool) -> None:
    points, right = points_of("{inputs: {x: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}")
    assert same_gradients(points.own, MutantCore(scaled(factor)), right) == same
