"""Jacobian-vector products: by dual tensors, by gradients of gradients; of graphs and of ops alone."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.core import Core, applications_of
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.jvp import problem_at_step, push_forward, push_operations
from gradcheck.engines.resolve import resolve_engine as engine_of
from gradcheck.engines.torch import Torch
from tests.engines.elsewhere import Elsewhere
from tests.from_text import problem_from

CUBES = "{inputs: {x: [1.0, -2.0]}, graph: {y: x ** 3, m: 'max(y, dim=0)', s: y.detach() * 2, loss: (y * y).sum()}}"
MOVE = {"x": np.array([0.5, 2.0])}
FLOAT64 = np.dtype(np.float64)


@pytest.fixture(params=[Core, Torch])
def engine(request: pytest.FixtureRequest) -> DefineByRun:
    made: DefineByRun = request.param()
    return made


def test_every_named_tensor_has_its_tangent(engine: DefineByRun) -> None:
    found = push_forward(engine, problem_from(CUBES), MOVE)
    assert found.error is None
    assert found.method == ("forward AD" if isinstance(engine, Torch) else "double reverse")
    np.testing.assert_allclose(found.tangents["y"], [1.5, 24.0])
    np.testing.assert_allclose(found.tangents["m[0]"], 1.5)
    np.testing.assert_allclose(found.tangents["loss"], 2 * 1 * 1.5 + 2 * -8 * 24)
    assert found.tangents["m[1]"] is None
    assert found.tangents["s"] is None  # nothing moves behind what is detached


def test_complex_tangents_are_those_of_the_function_not_its_conjugate(engine: DefineByRun) -> None:
    problem = problem_from("{dtype: complex128, inputs: {z: ['1+2j']}, graph: {y: z * z, r: abs(z)}}")
    found = push_forward(engine, problem, {"z": np.array([1j])})
    np.testing.assert_allclose(found.tangents["y"], [2j * (1 + 2j)])
    np.testing.assert_allclose(found.tangents["r"], [2 / np.sqrt(5)])


def test_half_precision_keeps_its_dtype(engine: DefineByRun) -> None:
    problem = problem_from("{dtype: bfloat16, inputs: {x: [1.0, 2.0]}, graph: {y: x * x, z: x.detach() * x * 0}}")
    found = push_forward(engine, problem, {"x": np.ones(2).astype(problem.dtype)})
    assert found.tangents["y"] is not None
    assert found.tangents["y"].dtype == problem.dtype
    np.testing.assert_allclose(found.tangents["y"].astype(float), [2, 4])


def test_torch_goes_by_double_reverse_where_an_op_has_no_forward_rule() -> None:
    problem = problem_from("{inputs: {x: [1.5, 2.5]}, graph: {y: logit(x / 4), z: 'cdist(x[:, None], x[:, None])'}}")
    found = push_forward(Torch(), problem, {"x": np.ones(2)})
    assert found.method == "double reverse"
    assert found.error is not None  # this op has neither
    assert found.error.kind == "unsupported"


def test_what_is_raised_is_handed_back(engine: DefineByRun) -> None:
    found = push_forward(engine, problem_from("{inputs: {x: [1, 2]}, graph: {y: 'x @ ones(3, 3)'}}"), MOVE)
    assert found.error is not None
    assert found.error.kind == "shape_mismatch"


def test_an_engine_without_gradients_of_gradients_has_no_forward_mode() -> None:
    found = push_forward(Plain(), problem_from("{inputs: {x: [1.0]}, graph: {y: x * x}}"), {"x": np.ones(1)})
    assert found.error is not None
    assert found.error.kind == "unsupported"


class Plain(Core):
    """A core that cannot differentiate again."""

    differentiate = DefineByRun.differentiate


def test_inputs_are_those_of_the_step() -> None:
    problem = problem_from(
        "{inputs: {x: [1.0]}, constants: {c: [2.0]}, graph: {y: x * c}, steps: [backward: {y: [1]}, "
        "forward: {x: [5]}, backward: {y: [1]}]}"
    )
    assert problem_at_step(problem, 0).inputs["x"] == [1.0]
    later = problem_at_step(problem, 2)
    assert (later.inputs["x"][0], later.constants["c"][0]) == (5.0, 2.0)


def test_roots_that_no_leaf_moves_have_none() -> None:
    core = Core()
    leaf, other = core.leaf(np.ones(2), True), core.leaf(np.ones(2), True)
    assert core.jvp([], [leaf], [np.ones(2)]) == []
    assert core.jvp([TABLE["tanh"](other)], [leaf], [np.ones(2)]) == [None]


def test_ops_alone_move_in_what_is_tracked_only(engine: DefineByRun) -> None:
    problem = problem_from("{inputs: {x: [1.0, 2.0]}, constants: {c: [3.0, 4.0]}, graph: {y: x * c, z: sin(y)}}")
    applications = applications_of(problem)
    found = push_operations(engine, applications, [[np.ones(2)], [np.array([1.0, 0.0])]], FLOAT64)
    np.testing.assert_allclose(found[0].tangents["0"], [3, 4])
    np.testing.assert_allclose(found[1].tangents["0"], [np.cos(3), 0])


def test_ops_on_halves_round_once(engine: DefineByRun) -> None:
    half = np.dtype(np.float16)
    x = np.array([1000.0, 1000.0, 0.0], half)
    application = Application(TABLE["logsumexp"], (x, 0), {}, "y", (True,), None, (((), half),))
    (found,) = push_operations(engine, [application], [[np.array([1.0, 2.0, 3.0], half)]], half)
    assert found.tangents["0"] is not None
    assert found.tangents["0"].dtype == half
    assert abs(float(found.tangents["0"]) - 1.5) < 1e-2


def test_hips_differentiates_functions_twice() -> None:
    pytest.importorskip("autograd")
    twice("hips")


def test_jax_does_so_too(elsewhere: Elsewhere) -> None:
    elsewhere("jax", twice, "jax")


def twice(name: str) -> None:
    library = engine_of(name)
    assert isinstance(library, DefineByRun)
    problem = problem_from("{inputs: {x: [[1.0, 2.0]], w: [[0.5], [1.0]]}, graph: {y: x @ w, z: tanh(y), c: x * 2}}")
    move = {"x": np.array([[1.0, -1.0]]), "w": np.array([[2.0], [0.0]])}
    mine, core = push_forward(library, problem, move), push_forward(Core(), problem, move)
    assert mine.error is None
    for tensor, tangent in core.tangents.items():
        np.testing.assert_allclose(mine.tangents[tensor], tangent)
