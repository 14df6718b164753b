"""The core, some ops being pulled back by another engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.engines.borrowed_vjps import CoreWithBorrowedVjps
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.from_text import case_of

GRAPH = """
    inputs: {x: [[0.5, -0.2], [0.4, 0.1]], w: [[0.1, -0.2], [0.3, 0.4]]}
    graph: {h: hardsigmoid(x @ w), y: "cat([h * h, tanh(w)])", loss: y.sum()}
"""


def gradients(engine: Any, problem: Problem) -> dict[str, np.ndarray]:
    state = engine.evaluate(problem).states[-1]
    return {name: gradient for name, gradient in state.gradients.items() if gradient is not None}


@pytest.fixture
def problem() -> Problem:
    return draw(case_of(GRAPH))


def test_without_ops_it_is_the_core(problem: Problem) -> None:
    got, want = gradients(CoreWithBorrowedVjps(Torch(), ()), problem), gradients(Core(), problem)
    assert all(np.array_equal(got[name], want[name]) for name in want)


def test_what_is_asked_of_torch_comes_out_as_torchs_and_nothing_else(problem: Problem) -> None:
    """Torch divides by 6 in single precision."""
    got, torch, core = (
        gradients(engine, problem) for engine in (CoreWithBorrowedVjps(Torch(), ["hardsigmoid"]), Torch(), Core())
    )
    assert not np.allclose(core["x"], torch["x"], rtol=1e-10, atol=0)
    assert np.allclose(got["x"], torch["x"], rtol=1e-12, atol=0)
    assert np.array_equal(got["h"], core["h"])


def test_of_a_sequence_and_of_factors_each_has_its_own(problem: Problem) -> None:
    engine = CoreWithBorrowedVjps(Torch(), ["cat", "matmul", "tanh", "mul", "sum"])
    got, want = gradients(engine, problem), gradients(Core(), problem)
    assert all(np.allclose(got[name], want[name], rtol=1e-12, atol=0) for name in want)
