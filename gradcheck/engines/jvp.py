"""Jacobian-vector products of a graph and of ops alone.

An engine that has forward rules (torch's dual tensors) uses them. Any other that can differentiate gradients again
gets the same result by reverse mode alone: `w -> J.T @ w` is linear, and its own gradient, for an incoming one of
`v`, is `J @ v` ("double reverse": Townsend, "A new trick for calculating Jacobian vector products", 2017). One double
sweep serves all tensors of a graph, whatever their number. It shows whether a gradient rule is linear in its incoming
gradient, and differentiable with respect to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.base import Application, ForwardAD, as_tensor_error
from gradcheck.engines.define_by_run import DefineByRun, op_outputs
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError, TensorError
from gradcheck.language.problem import Problem

JvpMethod = Literal["forward AD", "double reverse"]
#: The tangent of each tracked array of an op, in order.
Directions = Sequence[np.ndarray]
#: Tangents by name; None if the tensor does not move.
Tangents = dict[str, np.ndarray | None]


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
        return _push(engine, _graph_by_duals, _graph_by_double_reverse, problem, directions)


def problem_at_step(problem: Problem, step: int) -> Problem:
    """Return the problem with inputs and constants as they are at this step."""
    inputs, constants = dict(problem.inputs), dict(problem.constants)
    for changed in problem.forwards[:step]:
        for name, array in changed.items():
            (inputs if name in inputs else constants)[name] = array
    return replace(problem, inputs=inputs, constants=constants)


def _push(engine: DefineByRun, by_duals: Any, by_double_reverse: Any, *given: Any) -> Pushforward:
    """Return tangents by forward mode if supported, else by double reverse."""
    if engine.forward_ad is not None:
        found = _attempt(partial(by_duals, engine.forward_ad, engine, *given), "forward AD")
        if found.error is None or found.error.kind != "unsupported":
            return found
    return _attempt(partial(by_double_reverse, engine, *given), "double reverse")


def _attempt(run: Callable[[], Tangents], method: JvpMethod) -> Pushforward:
    try:
        return Pushforward(run(), method)
    except GradcheckError as error:
        return Pushforward({}, method, as_tensor_error(error))


def _tangents_by_duals(duals: ForwardAD, engine: DefineByRun, named: Mapping[str, Any]) -> Tangents:
    tangents = {name: duals.tangent(tensor) for name, tensor in named.items()}
    return {name: None if tangent is None else engine.array(tangent) for name, tangent in tangents.items()}


def _tangents_by_double_reverse(
    engine: DefineByRun, named: Mapping[str, Any], leaves: Sequence[Any], directions: Directions
) -> Tangents:
    moving = {name: tensor for name, tensor in named.items() if _moves(engine, tensor)}
    found = dict(zip(moving, engine.jvp(list(moving.values()), leaves, directions), strict=True))
    return {name: found.get(name) for name in named}


def _moves(engine: DefineByRun, tensor: Any) -> bool:
    return bool(tensor.requires_grad) and dtypes.is_differentiable(engine.array(tensor).dtype)


# A graph -------------------------------------------------------------------------------------------


def _graph_by_duals(
    duals: ForwardAD, engine: DefineByRun, problem: Problem, directions: Mapping[str, np.ndarray]
) -> Tangents:
    with duals.level():
        run = GraphRun(engine, problem)
        for name, direction in directions.items():
            run.leaves[name] = duals.dual(engine.leaf(problem.inputs[name], False), direction)
        run.run_graph()
        return _tangents_by_duals(duals, engine, _named(run))


def _graph_by_double_reverse(engine: DefineByRun, problem: Problem, directions: Mapping[str, np.ndarray]) -> Tangents:
    run = GraphRun(engine, problem)
    run.run_graph()
    leaves = [run.leaves[name] for name in directions]
    return _tangents_by_double_reverse(engine, _named(run), leaves, list(directions.values()))


def _named(run: GraphRun) -> dict[str, Any]:
    return {name: tensor for name, tensor in run.tensors.items() if name not in run.leaves}


# One op --------------------------------------------------------------------------------------------


def push_operations(
    engine: DefineByRun, applications: Sequence[Application], directions: Sequence[Directions], dtype: np.dtype
) -> list[Pushforward]:
    """Return the tangents of each op alone, given those of its tracked arrays."""
    found = []
    for application, tangents in zip(applications, directions, strict=True):
        with engine.fresh_session(dtype):
            found.append(_push(engine, _operation_by_duals, _operation_by_double_reverse, application, tangents))
    return found


def _operation_by_duals(
    duals: ForwardAD, engine: DefineByRun, application: Application, directions: Directions
) -> Tangents:
    with duals.level():
        moving = iter(directions)
        outputs = op_outputs(engine, application, lambda array: duals.dual(engine.leaf(array, False), next(moving)))
        return _tangents_by_duals(duals, engine, _numbered(engine, outputs))


def _operation_by_double_reverse(engine: DefineByRun, application: Application, directions: Directions) -> Tangents:
    """Compute ops of half precision in single, and round once."""
    alone = _without_halves(application)
    if alone is not application:
        found = _operation_by_double_reverse(engine, alone, [_single(direction) for direction in directions])
        for number, output in enumerate(application.outputs):
            tangent = found.get(str(number))
            if tangent is not None and output is not None:
                found[str(number)] = tangent.astype(output[1])
        return found
    leaves: list[Any] = []

    def leaf(array: np.ndarray) -> Any:
        leaves.append(engine.leaf(array, True))
        return leaves[-1]

    outputs = _numbered(engine, op_outputs(engine, application, leaf))
    return _tangents_by_double_reverse(engine, outputs, leaves, directions)


def _numbered(engine: DefineByRun, outputs: Sequence[Any]) -> dict[str, Any]:
    return {str(number): one for number, one in enumerate(outputs) if isinstance(one, engine.tensor_type)}


def _without_halves(application: Application) -> Application:
    """Return the application in single precision if it has half precision."""
    flat = arrays(application.args, application.kwargs)
    if not application.outputs or not any(array.dtype in dtypes.HALVES for array in flat):
        return application
    args, kwargs = rebuild(application.args, application.kwargs, _single, dtypes.BY_NAME.__getitem__)
    return replace(application, args=args, kwargs=kwargs, recorded=None)


def _single(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype in dtypes.HALVES else array
