"""The same problem, and the same engine, in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import (
    double_precision_array,
    double_precision_backend,
    double_precision_problem,
)
from gradcheck.engines.torch import Torch
from gradcheck.language.expr.printer import to_text
from tests.from_text import problem_from

TEXT = "{{dtype: {dtype}, inputs: {{x: [0.8, 0.3]}}, graph: {{y: '{graph}'}}, backward: {{y: [1, 2]}}}}"


@pytest.mark.parametrize("engine", [Core(), Torch()], ids=["core", "torch"])
def test_it_is_in_double_precision_throughout(engine: DefineByRun) -> None:
    problem = problem_from(TEXT.format(dtype="float16", graph="x.to(torch.float32) / 3"))
    known = engine.host
    (state,) = double_precision_backend(engine).evaluate(double_precision_problem(problem)).states
    x = np.array([0.8, 0.3], np.float16).astype(np.float64)
    assert state.values["y"].tolist() == (x / 3).tolist()
    gradient = state.gradients["x"]
    assert gradient is not None
    assert gradient.dtype == np.float64
    assert engine.host is known


def test_double_precision_stays_what_it_is() -> None:
    problem = problem_from(TEXT.format(dtype="float64", graph="x * 2"))
    assert double_precision_problem(problem) is problem
    assert double_precision_array(np.array([1], np.int32)).dtype == np.int32
    assert double_precision_array(np.ones(1, np.complex64)).dtype == np.complex128


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("graph", ["clamp(x, 0.3, 0.8)", "x * (x > 0.3)", "where(x >= -0.3, x, 0)"])
def test_thresholds_are_those_of_the_lower_precision(dtype: str, graph: str) -> None:
    problem = problem_from(TEXT.format(dtype=dtype, graph=graph))
    text = to_text(double_precision_problem(problem).case.graph["y"].expr)
    rounded = float(problem.inputs["x"][1])
    assert rounded != 0.3
    assert repr(rounded) in text


def test_other_numbers_are_not_rounded() -> None:
    problem = problem_from(TEXT.format(dtype="float16", graph="x * 0.3"))
    assert double_precision_problem(problem).case.graph["y"] is problem.case.graph["y"]
