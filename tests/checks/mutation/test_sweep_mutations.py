"""Uses that are lost, counted twice or overwritten, and passes that overwrite."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.mutation.mutant_core import CoverageCore, MutantCore
from gradcheck.checks.mutation.sweep_mutations import (
    MAX_REUSED,
    PASSES_OVERWRITTEN,
    SWEEP_MUTATIONS,
    Reused,
    sweep_mutations,
)
from gradcheck.engines.core import Core
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.from_text import case_of


def reused_in(problem: Problem) -> list[Reused]:
    coverage = CoverageCore()
    coverage.evaluate(problem)
    return list(coverage.reused)


@pytest.fixture
def squared() -> Problem:
    """`z = y * y`, two uses of which each brings half of y's gradient."""
    text = "{inputs: {x: 'randn(3)'}, graph: {y: x * 2, z: y * y}, backward: {z: 'randn(3)'}}"
    return draw(case_of(text))


def test_a_tensor_that_is_used_twice_is_told(squared: Problem) -> None:
    (found,) = reused_in(squared)
    assert (found.op, found.shape, found.count) == ("mul", (3,), 2)


def test_a_leaf_has_no_op() -> None:
    problem = draw(case_of("{inputs: {x: [1, 2]}, graph: {y: x * x * x, loss: y.sum()}}"))
    assert [(one.op, one.count) for one in reused_in(problem)] == [("", 3)]


def test_of_many_only_the_first_are_taken() -> None:
    graph = ", ".join(f"y{n}: {'x' if n == 0 else f'y{n - 1}'} * {'x' if n == 0 else f'y{n - 1}'}" for n in range(20))
    problem = draw(case_of(f"{{inputs: {{x: 1}}, graph: {{{graph}}}}}"))
    assert len(reused_in(problem)) == MAX_REUSED


@pytest.mark.parametrize(("kind", "share"), [("use_lost", 0.5), ("use_doubled", 1.5), ("uses_overwritten", 0.5)])
def test_the_last_use_goes_wrong(squared: Problem, kind: str, share: float) -> None:
    found = {one.kind.kind: one for one in sweep_mutations(reused_in(squared))}
    assert found.keys() == SWEEP_MUTATIONS.keys()
    right = np.asarray(Core().evaluate(squared).states[-1].gradients["y"])
    wrong = np.asarray(MutantCore(found[kind]).evaluate(squared).states[-1].gradients["y"])
    np.testing.assert_allclose(wrong, share * right)


def test_three_uses_tell_lost_from_overwritten() -> None:
    problem = draw(case_of("{inputs: {x: [2]}, graph: {y: x * 1, z: y + y + y, loss: z.sum()}}"))
    found = {one.kind.kind: one for one in sweep_mutations(reused_in(problem))}

    def gradient(kind: str) -> float:
        gradients = MutantCore(found[kind]).evaluate(problem).states[-1].gradients
        return float(np.asarray(gradients["y"])[0])

    assert (gradient("use_lost"), gradient("use_doubled"), gradient("uses_overwritten")) == (2, 4, 1)


def test_passes_that_overwrite() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {y: (3 * x).sum()}, steps: [{backward: y}, {backward: y}]}"
    problem = draw(case_of(text))
    assert list(np.asarray(Core().evaluate(problem).states[-1].gradients["x"])) == [6, 6]
    assert list(np.asarray(MutantCore(PASSES_OVERWRITTEN).evaluate(problem).states[-1].gradients["x"])) == [3, 3]
