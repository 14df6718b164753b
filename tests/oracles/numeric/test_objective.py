"""What is differentiated: which passes count, from which values, and what a moved tensor makes of the roots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.loader import load
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.oracles.numeric.objective import OpObjective, TensorObjective, WideHost, backward_passes
from gradcheck.oracles.numeric.perturbed_array import ForwardPass

STEPS = """
inputs: {x: [1, 2], w: [3, 4]}
graph: {y: x * w, z: y * y}
steps:
  - backward: {z: [1, 1]}
  - zero_grad: w
  - backward: {z: [5, 7]}
  - forward: {x: [10, 20]}
  - backward: {z: [1, 2]}
"""


def problem(text: str, tmp_path: Path) -> Problem:
    path = tmp_path / "case.yaml"
    path.write_text("name: objective\n" + text)
    return draw(load([path]).cases[0])


def test_passes_since_a_gradient_was_cleared(tmp_path: Path) -> None:
    of = problem(STEPS, tmp_path)
    seeds = {name: [one.seeds["z"] for one in backward_passes(of, name, 4)] for name in ("x", "w", "y")}
    assert [seed.tolist() for seed in seeds["x"] if seed is not None] == [[1, 1], [5, 7], [1, 2]]
    assert [seed.tolist() for seed in seeds["w"] if seed is not None] == [[5, 7], [1, 2]]
    assert len(seeds["y"]) == 1  # a new tensor since the forward
    assert backward_passes(of, "x", 4)[2].leaves["x"].tolist() == [10, 20]
    assert len(backward_passes(of, "w", 1)) == 0


def test_the_roots_where_a_tensor_is_moved(tmp_path: Path) -> None:
    of = problem(STEPS, tmp_path)
    first, *_ = backward_passes(of, "y", 0)
    for name, point in (("x", [1, 2]), ("y", [3, 8])):
        objective = TensorObjective(of, name, first)
        assert objective.point.tolist() == point
    moved = TensorObjective(of, "y", first).terms(np.array([2.0, 3.0]), ForwardPass())
    assert moved.tolist() == [4, 9]
    assert TensorObjective(of, "z", first).terms(np.array([7.0, 9.0]), ForwardPass()).tolist() == [7, 9]


def test_parts_of_several_outputs_are_moved_one_by_one(tmp_path: Path) -> None:
    of = problem("inputs: {x: [1, 2, 3, 4]}\ngraph: {m: 'split(x, 2)', y: '(m[0] * m[1]).sum()'}", tmp_path)
    (backward,) = backward_passes(of, "m[1]", 0)
    objective = TensorObjective(of, "m[1]", backward)
    assert objective.point.tolist() == [3, 4]
    assert objective.terms(np.array([5.0, 6.0]), ForwardPass()).tolist() == [1 * 5 + 2 * 6]


def test_all_ops_below_the_tensor_are_work(tmp_path: Path) -> None:
    of = problem("inputs: {x: [1, 2], w: [3, 4]}\ngraph: {h: w * w, y: (x * exp(w)).sum(), z: h.sum() + y}", tmp_path)
    (backward,) = backward_passes(of, "x", 0)
    forward = ForwardPass(at_rest=True)
    TensorObjective(of, "x", backward).terms(np.array([1.0, 2.0]), forward)
    assert forward.work.ops == 5  # exp and h.sum(), plain beside x; x * …, its sum, + y


def test_one_op_alone() -> None:
    seeds = [np.array([1.0, 10.0]), None]
    objective = OpObjective(np.array([1.0, 2.0]), lambda x: (TABLE["exp"](x), TABLE["sum"](x)), seeds)
    np.testing.assert_allclose(objective.terms(np.zeros(2), ForwardPass()), [1, 10])
    alone = OpObjective(np.array([1.0, 2.0]), lambda x: x > 0, [np.ones(2)])
    with pytest.raises(Unsupported, match="a root of bool"):
        alone.terms(np.zeros(2), ForwardPass())


def test_an_incoming_gradient_of_another_shape() -> None:
    objective = OpObjective(np.ones(2), lambda x: x * 1, [np.ones(3)])
    with pytest.raises(ShapeMismatch):
        objective.terms(np.ones(2), ForwardPass())


def test_complex_roots_are_weighted_as_torch_does() -> None:
    objective = OpObjective(np.array([1 + 2j]), lambda x: x * 1, [np.array([3 + 4j])])
    assert objective.terms(np.array([1 + 2j]), ForwardPass()).tolist() == [(3 - 4j) * (1 + 2j)]


def test_low_precision_is_raised() -> None:
    assert WideHost().dtype("float16") == WideHost().dtype("float64") == np.float64
    assert WideHost().dtype("int32") == np.int32
