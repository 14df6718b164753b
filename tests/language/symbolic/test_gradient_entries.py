"""Gradients as entries of a graph."""

from __future__ import annotations

import numpy as np

from gradcheck.engines.core import Core
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.gradient_entries import gradients_of, with_gradients
from tests.from_text import problem_from

TEXT = """
    inputs: {x: [1.0, 2.0], w: 3.0, d_f_d_x: 1.0}
    graph: {a: x * w, b: a * a, f: b.sum(), m: "max(x, dim=0)"}
"""


def values_of(problem: Problem) -> dict[str, np.ndarray]:
    return dict(Core().evaluate(problem).states[0].values)


def test_they_equal_the_gradients() -> None:
    problem = problem_from(TEXT)
    case, names = with_gradients(problem.case, problem, "f", ["x", "m[0]"])
    found = values_of(draw(case))
    np.testing.assert_array_equal(found[names["x"]], [18, 36])
    np.testing.assert_array_equal(found[names["m[0]"]], 0.0)
    assert names["x"] == "d_f_d_x_"


def test_those_come_first_that_others_use() -> None:
    assert list(gradients_of(problem_from(TEXT), "f", ["x"])) == ["f", "b", "a", "x"]
