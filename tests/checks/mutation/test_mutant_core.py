"""The core with a mutation touches nothing else; the core with coverage notes what is used."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.mutation.core_mutations import rule_mutations
from gradcheck.checks.mutation.mutant_core import CoverageCore, MutantCore
from gradcheck.engines.core import Core
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.checks.build import point_of
from tests.from_text import case_of

CHAIN = "{inputs: {x: 'randn(3)', c: 'randn(3)'}, graph: {y: tanh(x) * c, dead: exp(x), loss: y.sum()}}"


def gradients(engine: Core, problem: Problem) -> dict[str, np.ndarray | None]:
    return dict(engine.evaluate(problem).states[-1].gradients)


def test_what_is_used_is_noted() -> None:
    coverage = CoverageCore()
    coverage.evaluate(draw(case_of(CHAIN)))
    assert {(op.name, position) for op, position in coverage.applied} == {
        ("sum", 0), ("mul", 0), ("mul", 1), ("tanh", 0),
    }  # fmt: skip
    assert list(coverage.reused) == []


def test_noting_changes_nothing() -> None:
    problem = draw(case_of(CHAIN))
    for name, gradient in gradients(Core(), problem).items():
        other = gradients(CoverageCore(), problem)[name]
        assert (gradient is None) == (other is None)
        if gradient is not None:
            np.testing.assert_array_equal(gradient, np.asarray(other))


def test_an_op_alone_has_the_mutation_too() -> None:
    point = point_of(CHAIN)
    coverage = CoverageCore()
    coverage.evaluate(point.problem)
    (tanh,) = [one for one in point.applications if one.op.name == "tanh"]
    mutation = next(m for m in rule_mutations(coverage.applied) if m.op is tanh.op and m.kind.kind == "rule_negated")
    (right,) = Core().pull_back([tanh], [[np.ones(3)]], point.problem.dtype)
    (wrong,) = MutantCore(mutation).pull_back([tanh], [[np.ones(3)]], point.problem.dtype)
    np.testing.assert_array_equal(np.asarray(wrong.gradients[0]), -np.asarray(right.gradients[0]))
