"""Jacobian-vector products of a graph and of ops alone.

An engine that has forward rules (torch's dual tensors) uses them. Any other that can differentiate gradients again
gets the same result by reverse mode alone: `w -> J.T @ w` is linear, and its own gradient, for an incoming one of
`v`, is `J @ v` ("double reverse": Townsend, "A new trick for calculating Jacobian vector products", 2017). One double
sweep serves all tensors of a graph, whatever their number. It shows whether a gradient rule is linear in its incoming
gradient, and differentiable with respect to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.base import Application, ForwardAD, as_tensor_error
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError, TensorError
from gradcheck.language.problem import Problem

JvpMethod = Literal["forward AD", "double reverse"]
#: The tangent of each tracked array of an op, in order.
Directions = Sequence[np.ndarray]


@dataclass(frozen=True, slots=True)
class Pushforward:
    """The tangent of each tensor of a graph by name, of its shape and dtype.

    Outputs of an op alone are named `0`, `1` and so on. A tangent is None if the tensor does not move."""

    tangents: Mapping[str, np.ndarray | None]
    method: JvpMethod
    error: TensorError | None = None


def push_forward(
    engine: DefineByRun,
    problem: Problem,
    directions: Mapping[str, np.ndarray],
) -> Pushforward:
    """Return the tangents of all named tensors for tangents of the inputs."""
    with engine.fresh_session(problem.dtype):
        if engine.forward_ad is not None:
            found = _attempt(lambda: _graph_by_duals(engine, problem, directions), "forward AD")
            if found.error is None or found.error.kind != "unsupported":
                return found
        return _attempt(lambda: _graph_by_double_reverse(engine, problem, directions), "double reverse")


def problem_at_step(problem: Problem, step: int) -> Problem:
    """Return the problem with inputs and constants as they are at this step."""
    inputs, constants = dict(problem.inputs), dict(problem.constants)
    for changed in problem.forwards[:step]:
        for name, array in changed.items():
            (inputs if name in inputs else constants)[name] = array
    return replace(problem, inputs=inputs, constants=constants)


def _duals(engine: DefineByRun) -> ForwardAD:
    assert engine.forward_ad is not None
    return engine.forward_ad


def _attempt(run: Any, way: JvpMethod) -> Pushforward:
    try:
        return Pushforward(run(), way)
    except GradcheckError as error:
        return Pushforward({}, way, as_tensor_error(error))


# A graph -------------------------------------------------------------------------------------------


def _graph_by_duals(
    engine: DefineByRun, problem: Problem, directions: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray | None]:
    duals = _duals(engine)
    with duals.level():
        run = GraphRun(engine, problem)
        for name, direction in directions.items():
            run.leaves[name] = duals.dual(engine.leaf(problem.inputs[name], False), direction)
        run.run_graph()
        named = {name: duals.tangent(tensor) for name, tensor in run.tensors.items() if name not in run.leaves}
        return {name: _array(engine, tangent) for name, tangent in named.items()}


def _graph_by_double_reverse(
    engine: DefineByRun, problem: Problem, directions: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray | None]:
    run = GraphRun(engine, problem)
    run.run_graph()
    named = {name: tensor for name, tensor in run.tensors.items() if name not in run.leaves}
    moving = {name: tensor for name, tensor in named.items() if _moves(engine, tensor)}
    leaves = [run.leaves[name] for name in directions]
    tangents = engine.jvp(list(moving.values()), leaves, list(directions.values()))
    found = dict(zip(moving, tangents, strict=True))
    return {name: found.get(name) for name in named}


def _moves(engine: DefineByRun, tensor: Any) -> bool:
    return bool(tensor.requires_grad) and dtypes.is_differentiable(engine.array(tensor).dtype)


def _array(engine: DefineByRun, tensor: Any) -> np.ndarray | None:
    return None if tensor is None else engine.array(tensor)


# One op --------------------------------------------------------------------------------------------


def push_operations(
    engine: DefineByRun, applications: Sequence[Application], directions: Sequence[Directions], dtype: np.dtype
) -> list[Pushforward]:
    """Return the tangents of each op alone, given those of its tracked arrays."""
    found = []
    for application, ways in zip(applications, directions, strict=True):
        with engine.fresh_session(dtype):
            found.append(_push_operation(engine, application, ways))
    return found


def _push_operation(engine: DefineByRun, application: Application, directions: Directions) -> Pushforward:
    if engine.forward_ad is not None:
        found = _attempt(lambda: _operation_by_duals(engine, application, directions), "forward AD")
        if found.error is None or found.error.kind != "unsupported":
            return found
    return _attempt(lambda: _operation_by_double_reverse(engine, application, directions), "double reverse")


def _operation_by_duals(
    engine: DefineByRun, application: Application, directions: Directions
) -> dict[str, np.ndarray | None]:
    duals = _duals(engine)
    with duals.level():
        moving = iter(directions)
        outputs = _op_outputs(engine, application, lambda array: duals.dual(engine.leaf(array, False), next(moving)))
        return {
            str(number): _array(engine, duals.tangent(output))
            for number, output in enumerate(outputs)
            if isinstance(output, engine.tensor_type)
        }


def _operation_by_double_reverse(
    engine: DefineByRun, application: Application, directions: Directions
) -> dict[str, np.ndarray | None]:
    """Compute ops of half precision in single, and round once.

    Rules of half precision are computed in single, too."""
    alone = _without_halves(application)
    if alone is not application:
        found = _operation_by_double_reverse(engine, alone, [_single(direction) for direction in directions])
        made = [None if output is None else output[1] for output in application.outputs]
        return {
            number: array.astype(made[int(number)]) if array is not None and made[int(number)] is not None else array
            for number, array in found.items()
        }
    leaves: list[Any] = []

    def leaf(array: np.ndarray) -> Any:
        leaves.append(engine.leaf(array, True))
        return leaves[-1]

    listed = {
        str(n): o for n, o in enumerate(_op_outputs(engine, application, leaf)) if isinstance(o, engine.tensor_type)
    }
    moving = {number: output for number, output in listed.items() if _moves(engine, output)}
    found = dict(zip(moving, engine.jvp(list(moving.values()), leaves, directions), strict=True))
    return {number: found.get(number) for number in listed}


def _without_halves(application: Application) -> Application:
    """Return the application with half precision raised to single, if any.

    It is unchanged too if its outputs are unknown."""
    flat = arrays(application.args, application.kwargs)
    if not application.outputs or not any(array.dtype in dtypes.HALVES for array in flat):
        return application
    args, kwargs = rebuild(application.args, application.kwargs, _single, dtypes.BY_NAME.__getitem__)
    return replace(application, args=args, kwargs=kwargs, recorded=None)


def _single(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype in dtypes.HALVES else array


def _op_outputs(engine: DefineByRun, application: Application, tracked_leaf: Any) -> tuple[Any, ...]:
    """Return the op's outputs, with tracked arrays made by `tracked_leaf`."""
    tracked = iter(application.tracked or itertools.repeat(True))

    def leaf(array: np.ndarray) -> Any:
        if next(tracked) and dtypes.is_differentiable(array.dtype):
            return tracked_leaf(array)
        return engine.leaf(array, False)

    args, kwargs = rebuild(application.args, application.kwargs, leaf, engine.host.dtype)
    result = engine.host.call(application.op, args, kwargs)
    return result if type(result) is tuple else (result,)
