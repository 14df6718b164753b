"""The engine of an implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_run import CallMode
from gradcheck.engines.torch import Torch
from gradcheck.language.problem import Problem
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import AFFINE, TANH, engine_of
from tests.from_text import problem_from


@pytest.fixture(scope="module")
def problem() -> Problem:
    return problem_from(TANH)


def gradient(engine: CodeEngine, problem: Problem, name: str = "x") -> np.ndarray:
    found = engine.evaluate(problem).states[-1].gradients[name]
    assert found is not None
    return found


def test_the_code_stands_in_for_its_entry(problem: Problem) -> None:
    right = Torch().evaluate(problem).states[0].gradients["x"]
    assert right is not None
    assert np.allclose(gradient(engine_of(functions.Tanh.apply), problem), right)
    assert np.allclose(gradient(engine_of(functions.WrongSign.apply), problem), -right)


def test_what_it_raises_is_told_with_its_own_traceback(problem: Problem) -> None:
    error = engine_of(functions.Raises.apply).evaluate(problem).error
    assert error is not None
    assert error.kind == "code_raised"
    assert "functions.py" in error.message


def test_what_it_changes_is_told(problem: Problem) -> None:
    assert engine_of(functions.changes_input).evaluate(problem).changed.keys() == {"x"}
    engine = engine_of(functions.ChangesIncoming.apply)
    engine.evaluate(problem)
    assert engine.observations.changed_arguments.keys() == {"incoming"}


def test_a_wrong_shape_is_kept_as_it_is() -> None:
    engine = engine_of(functions.affine_forward, functions.not_summed, AFFINE)
    assert gradient(engine, problem_from(AFFINE), "b").shape == (3, 4)


def test_less_precision_is_named(problem: Problem) -> None:
    assert engine_of(functions.narrow).less_precision(problem)
    assert not engine_of(functions.Tanh.apply).less_precision(problem)


def test_more_precision_is_told_and_taken_back() -> None:
    low = problem_from(f"dtype: float32\n{TANH}")
    engine = engine_of(lambda x: x.double().tanh())
    assert gradient(engine, low).dtype == np.float32
    assert engine.observations.wider_dtypes == {"float64"}


def test_modules_take_their_parameters_from_the_case() -> None:
    case = 'inputs: {x: "randn(2, 3)", weight: "randn(4, 3)"}\ngraph: {y: "F.linear(x, weight)"}\n'
    case += "backward: {y: randn_like(y)}"
    engine = engine_of(functions.Layer, case=case)
    problem = problem_from(case)
    right = Torch().evaluate(problem).states[0].gradients["weight"]
    assert right is not None
    assert np.allclose(gradient(engine, problem, "weight"), right)
    assert [note.kind for note in engine.notes] == ["arguments_bound", "parameters_unchecked"]


def test_other_manners_ask_for_the_same(problem: Problem) -> None:
    engine = engine_of(functions.Remembers.apply)
    plain = gradient(engine, problem)
    moved = problem_from(TANH.replace("dims", "seed: 1\ndims"))
    other = engine.evaluate_in_mode(CallMode(calls_in_between=True), problem, moved).states[0].gradients["x"]
    assert other is not None
    assert not np.allclose(other, plain)
    refused = engine_of(functions.NeedsContiguous.apply).evaluate_in_mode(CallMode(incoming="strided"), problem)
    assert refused.error is not None


def test_what_is_differentiable_once_says_so(problem: Problem) -> None:
    probes = {"x": np.ones((3, 2))}
    engine = engine_of(functions.OnlyOnce.apply)
    error = engine.second_order(problem, 0, probes).error
    assert error is not None
    assert error.kind == "unsupported"
    assert engine.observations.is_once_differentiable
    assert engine_of(functions.Tanh.apply).second_order(problem, 0, probes).error is None


def test_what_it_prints_is_kept(problem: Problem) -> None:
    engine = engine_of(functions.prints)
    engine.evaluate(problem)
    assert engine.output.take() == "seen (3, 2)\n"
    assert engine.values_alone(problem)["y"].shape == (3, 2)


def test_results_that_are_marked_as_not_differentiable_pass_nothing_back() -> None:
    assert check_function(functions.SignAndSize.apply, x=(3, 2), spec="(sign(x), abs(x))").exit_code == 0
    assert check_function(functions.SignAndSize.apply, x=(3, 2)).exit_code == 0


def test_a_result_that_shares_memory_with_an_argument_is_told() -> None:
    def told(function: Any, *backward: Any) -> bool:
        (case,) = check_function(function, *backward, x=(3, 2)).cases
        return any(c.has_note("aliases_argument") for c in case.comparisons)

    assert told(lambda x: x.reshape(-1))
    assert told(lambda x: x.reshape(-1), lambda g, x: g.reshape(x.shape))
    assert not told(lambda x: x.reshape(-1) * 1)
    assert not told(lambda x: x.reshape(-1) * 1, lambda g, x: g.reshape(x.shape))
