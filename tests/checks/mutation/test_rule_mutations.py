"""Each mutation of a rule does what it says, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.mutation.core_mutation import Mutation
from gradcheck.checks.mutation.mutant_core import CoverageCore, MutantCore
from gradcheck.checks.mutation.rule_mutations import RULE_MUTATIONS, rule_mutations
from gradcheck.engines.core import Core
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.from_text import case_of


def mutations(problem: Problem) -> dict[tuple[str, str, str], Mutation]:
    """By kind, op and argument."""
    coverage = CoverageCore()
    coverage.evaluate(problem)
    found = rule_mutations(list(coverage.applied))
    return {(one.kind.kind, one.where["op"], one.where["argument"]): one for one in found}


def gradient(problem: Problem, tensor: str, mutation: Mutation | None = None) -> np.ndarray:
    engine = Core() if mutation is None else MutantCore(mutation)
    return np.asarray(engine.evaluate(problem).states[-1].gradients[tensor])


@pytest.fixture
def product() -> Problem:
    text = "{inputs: {x: 'randn(3, 3)', row: 'randn(3)'}, graph: {y: x * row}, backward: {y: 'randn(3, 3)'}}"
    return draw(case_of(text))


def test_signs_factors_zeros_and_transposes(product: Problem) -> None:
    found, right = mutations(product), gradient(product, "x")

    def mutant(kind: str) -> np.ndarray:
        return gradient(product, "x", found[kind, "mul", "input"])

    np.testing.assert_array_equal(mutant("rule_negated"), -right)
    np.testing.assert_array_equal(mutant("rule_zeroed"), np.zeros((3, 3)))
    np.testing.assert_array_equal(mutant("rule_transposed"), right.T)
    np.testing.assert_allclose(mutant("rule_scaled"), 1.001 * right, rtol=1e-14)
    assert np.count_nonzero(mutant("rule_one_element_off") != right) == 1


def test_the_other_argument_is_left_alone(product: Problem) -> None:
    found = mutations(product)
    wrong = gradient(product, "row", found["rule_negated", "mul", "input"])
    np.testing.assert_array_equal(wrong, gradient(product, "row"))


def test_an_unreduced_broadcast_has_the_shape_of_the_result() -> None:
    problem = draw(case_of("{inputs: {x: 'randn(2, 3)', row: 'randn(3)'}, graph: {y: x + row, loss: y.sum()}}"))
    wrong = mutations(problem)["rule_not_summed", "add", "other"]
    assert gradient(problem, "row", wrong).shape == (2, 3)


@pytest.mark.parametrize(("op", "expected"), [("sum", 1 / 6), ("mean", 1.0)])
def test_a_mean_for_a_sum_and_a_sum_for_a_mean(op: str, expected: float) -> None:
    problem = draw(case_of(f"{{inputs: {{x: 'randn(2, 3)'}}, graph: {{loss: x.{op}()}}}}"))
    wrong = mutations(problem)["rule_mean_for_sum", op, "input"]
    np.testing.assert_allclose(gradient(problem, "x", wrong), np.full((2, 3), expected))


def test_ops_have_the_mutations_that_fit_them() -> None:
    problem = draw(case_of("{inputs: {x: 'randn(2, 2)'}, graph: {y: x @ x, z: exp(y), loss: z.sum()}}"))
    by_op: dict[str, set[str]] = {}
    for kind, op, _ in mutations(problem):
        by_op.setdefault(op, set()).add(kind)
    assert RULE_MUTATIONS.keys() - by_op["matmul"] == {"rule_not_summed", "rule_mean_for_sum"}
    assert RULE_MUTATIONS.keys() - by_op["exp"] == {"rule_mean_for_sum"}
    assert RULE_MUTATIONS.keys() - by_op["sum"] == {"rule_not_summed"}
