"""A problem: concrete arrays, and by what they were drawn."""

from __future__ import annotations

import numpy as np

from gradcheck.errors import Place
from gradcheck.language.case import Case
from gradcheck.language.problem import Drawn, Problem

CASE = Case(id="c", name="c", place=Place(), inputs={}, graph={}, steps=())


def test_the_environment_of_the_graph() -> None:
    x, c = np.ones(2), np.zeros(3)
    problem = Problem(CASE, {"x": x}, {"c": c}, sizes={"n": 2})
    assert list(problem.environment()) == ["n", "x", "c"]
    assert problem.environment()["x"] is x


def test_the_seed_is_that_of_the_drawing() -> None:
    assert Problem(CASE, {}, {}).drawn == Drawn(seed=0, trial=None, attempt=0, nudged=False)
    assert Problem(CASE, {}, {}, drawn=Drawn(seed=-7, trial=2)).seed == -7
