"""The core rounds at random inside its forwards and its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.node import nodes
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.random_rounding import Rounded, Roundings
from gradcheck.engines.base import Application
from gradcheck.engines.core import Core
from gradcheck.engines.rounding_core import RoundedTensor, RoundingCore
from tests.conftest import WithForward
from tests.from_text import problem_from


def engine(seed: int = 0) -> RoundingCore:
    return RoundingCore(Roundings(np.random.default_rng(seed)))


def spread(text: str, tensor: str, what: str = "gradients") -> np.ndarray:
    """How far a value or a gradient moves in a few runs, absolute."""
    problem = problem_from(text)
    still = getattr(Core().evaluate(problem).states[-1], what)[tensor]
    runs = [getattr(engine(seed).evaluate(problem).states[-1], what)[tensor] for seed in range(8)]
    return np.max([np.abs(run - still) for run in runs], axis=0)


STRUCTURAL_ZEROS = {
    "x / x": ("{inputs: {x: [0.3, 1.7]}, graph: {y: x / x, loss: y.sum()}}", "x"),
    "a bias before a batch norm": (
        "{inputs: {x: 'randn(5, 3)', b: randn(3), c: 'randn(5, 3)'}, graph: {h: x + b,"
        " y: 'F.batch_norm(h, None, None, training=True)', loss: (y * c).sum()}}",
        "b",
    ),
    "a layer norm of one": ("{inputs: {x: 'randn(3, 1)'}, graph: {y: 'F.layer_norm(x, [1])', loss: y.sum()}}", "x"),
    "a cosine of one": (
        "{inputs: {x: 'randn(3, 1)', w: 'randn(3, 1)'}, graph: {y: 'F.cosine_similarity(x, w)', loss: y.sum()}}",
        "x",
    ),
    "softmax against ones": ("{inputs: {x: randn(4)}, graph: {y: 'softmax(x, 0)', loss: y.sum()}}", "x"),
}


@pytest.mark.parametrize(("text", "tensor"), STRUCTURAL_ZEROS.values(), ids=STRUCTURAL_ZEROS)
def test_structural_zeros_move(text: str, tensor: str) -> None:
    found = spread(text, tensor)
    assert (found > 0).any()
    assert (found < 1e-12).all()


def test_a_constant_matrix_moves_inside_the_op_that_solves_with_it() -> None:
    hilbert = "1 / (arange(8).reshape(8, 1) + arange(8) + 1.0)"
    graph = "{y: 'linalg.solve(A, b)', loss: y.sum()}"
    text = f"{{constants: {{A: '{hilbert}'}}, inputs: {{b: randn(8)}}, graph: {graph}}}"
    still = np.abs(Core().evaluate(problem_from(text)).states[-1].values["y"])
    assert (spread(text, "y", "values") > 1e-10 * still).all()


def test_a_small_element_beside_large_ones_moves_by_its_own_size() -> None:
    text = "{inputs: {x: [1.1e12, 1.1], w: [0.7, 0.3]}, graph: {y: x * w, loss: (y * y).sum()}}"
    assert (spread(text, "w") / np.array([1e24, 1.0]) < 1e-14).all()


def test_inputs_are_what_they_were_given() -> None:
    assert not spread("{inputs: {x: [0.1]}, graph: {loss: exp(x).sum()}}", "x", "values").any()


def test_a_forward_that_loses_the_kind_of_its_arrays_rounds_all_the_same(with_forward: WithForward) -> None:
    with_forward("tanh", lambda forward: lambda input: np.tanh(np.asarray(input)))
    text = "{inputs: {x: [0.1, 0.7]}, graph: {y: tanh(x), loss: y.sum()}}"
    assert (spread(text, "y", "values") > 0).all()


def test_ops_alone_and_formulas_on_plain_arrays() -> None:
    x = np.array([0.3, 1.7])
    one = Application(TABLE["exp"], (x,), {}, "y", (True,))
    (pullback,) = engine().pull_back([one], [[np.ones(2)]], np.dtype(np.float64))
    assert pullback.gradients[0] is not None
    assert not np.array_equal(pullback.gradients[0], np.exp(x))
    made: Any = engine().host.call(TABLE["cat"], ([x, x],), {})
    assert isinstance(made, RoundedTensor)
    assert type(made.data) is Rounded
    assert nodes(TABLE["cat"], ([made],))


def test_a_tensor_handed_back_is_one_of_its_own() -> None:
    core = engine()
    leaf = core.leaf(np.ones(2), True)
    assert core.host.call(TABLE["dropout"], (leaf, 0.5, False), {}) is not leaf
