"""Forward mode and `vmap` of somebody's `Function`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.engines.implementation.jvp_vmap_rules import VmapResult, code_tangents, rules_of, vmap_results
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, engine_of
from tests.from_text import case_of

SUMMED = TANH.replace("tanh(x)", "2 * x.sum(0)")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return draw(case_of(SUMMED))


@pytest.mark.parametrize(
    ("code", "stated"),
    [(functions.Doubled.apply, {"jvp", "vmap"}), (functions.Tanh.apply, set()), (functions.Doubled.forward, set())],
)
def test_which_rules_are_stated(problem: Problem, code: Any, stated: set[str]) -> None:
    assert rules_of(engine_of(code, case=SUMMED), problem) == stated


def test_tangents_are_those_of_the_rule(problem: Problem) -> None:
    ways = {"x": np.ones((3, 2))}
    for code, sign in ((functions.Doubled.apply, 1), (functions.WrongRules.apply, -1)):
        assert np.array_equal(code_tangents(engine_of(code, case=SUMMED), problem, ways)["y"], np.full(2, sign * 6.0))


def test_what_is_mapped_stands_beside_one_call_after_the_other(problem: Problem) -> None:
    found = [
        one
        for one in vmap_results(engine_of(functions.Doubled.apply, case=SUMMED), problem)
        if isinstance(one, VmapResult)
    ]
    assert [one.dim for one in found] == [0, -1]
    assert all(np.allclose(one.got, one.want) for one in found)
    first, last = vmap_results(engine_of(functions.WrongRules.apply, case=SUMMED), problem)
    assert isinstance(first, VmapResult)
    assert np.allclose(first.got, first.want)
    assert isinstance(last, VmapResult)
    assert last.got.shape != last.want.shape or not np.allclose(last.got, last.want)
