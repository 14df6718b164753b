"""Tensors that code keeps for its backward, and gradients that it records.

A backward can be differentiated again only with respect to tensors that are arguments or results of its forward: torch
takes any other tensor that forward kept as a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gradcheck.engines.define_by_run import last_backward_step
from gradcheck.engines.implementation.precision_modes import memory_address
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.torch_nodes import nodes

if TYPE_CHECKING:
    from gradcheck.engines.graph_run import GraphRun
    from gradcheck.engines.implementation.code_engine import CodeEngine
    from gradcheck.language.problem import Problem


def recorded_gradients(engine: CodeEngine, problem: Problem) -> dict[str, bool]:
    """Return by input whether its gradient can be differentiated.

    Gradients that are zero without a record say nothing, and are left out."""
    with engine.session(problem.dtype):
        run = engine.evaluated_run(problem)
        found = {} if run is None else _gradients(engine, run)
        recorded = [name for name, gradient in found.items() if gradient.requires_grad]
        if not _is_differentiated(engine, problem, recorded):
            recorded = [name for name in recorded if _is_differentiated(engine, problem, [name])] or recorded
    return {name: name in recorded for name, g in found.items() if g.requires_grad or bool(g.count_nonzero())}


def _is_differentiated(engine: CodeEngine, problem: Problem, names: list[str]) -> bool:
    """Return whether these first gradients can be differentiated."""
    step = last_backward_step(problem)
    probes = {name: np.ones_like(problem.inputs[name]) for name in names}
    return step is None or engine.second_order(problem, step, probes).error is None


def _gradients(engine: CodeEngine, run: GraphRun) -> dict[str, torch.Tensor]:
    """Return the gradients of leaves by torch; none if code raises."""
    step = last_backward_step(run.problem)
    if step is None:
        return {}
    leaves = {name: leaf for name, leaf in run.leaves.items() if leaf.requires_grad}
    seeds = run.problem.seeds[step]
    try:
        roots = [run.tensor(name) for name in seeds]
        found = engine.differentiate(roots, list(leaves.values()), list(seeds.values()))
    except USER_EXCEPTIONS:
        return {}
    return {name: gradient for name, gradient in zip(leaves, found, strict=True) if gradient is not None}


def saved_intermediates(engine: CodeEngine, problem: Problem, moved: Problem) -> list[str]:
    """Return what the code keeps of its forward that is no argument or result.

    These are floating tensors that depend on the inputs: their values differ at `moved`."""
    with engine.session(problem.dtype):
        here, there = (dict(_kept_values(engine, one)) for one in (problem, moved))
    return [
        name
        for name, value in here.items()
        if name in there and value.shape == there[name].shape and not np.array_equal(value, there[name])
    ]


def gradients_with_intermediates_of(engine: CodeEngine, problem: Problem, moved: Problem) -> dict[str, np.ndarray]:
    """Return the first gradients, with what forward keeps as it is at `moved`.

    Empty if that cannot be computed."""
    with engine.session(problem.dtype):
        run, other = engine.evaluated_run(problem), engine.evaluated_run(moved)
        if run is None or other is None:
            return {}
        there = dict(_kept(engine, other))
        for name, tensor in _kept(engine, run):
            if name not in there or there[name].shape != tensor.shape:
                return {}
            tensor.data.copy_(there[name])
        return {name: np.array(engine.array(g.detach())) for name, g in _gradients(engine, run).items()}


def _kept_values(engine: CodeEngine, problem: Problem) -> Iterator[tuple[str, np.ndarray]]:
    run = engine.evaluated_run(problem)
    for name, tensor in () if run is None else _kept(engine, run):
        yield name, np.array(engine.array(tensor))


def _kept(engine: CodeEngine, run: GraphRun) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors that forward keeps, other than arguments and results."""
    roots = [one for one in run.tensors.values() if one.grad_fn is not None]
    known = {memory_address(one) for one in (*run.leaves.values(), *run.constants.values()) if not one.requires_grad}
    for node in nodes(roots):
        kind = getattr(node, "_forward_cls", None)
        if kind is None:
            continue
        listed = [(f"saved_tensors[{number}]", one) for number, one in enumerate(_saved(node))]
        listed += [(f"ctx.{name}", one) for name, one in vars(node).items()]
        for name, one in listed:
            if isinstance(one, torch.Tensor) and _is_made_in_forward(one) and memory_address(one) not in known:
                yield name, one


def _is_made_in_forward(tensor: torch.Tensor) -> bool:
    """Return whether a floating tensor is no argument, result or view."""
    is_known = tensor.requires_grad and not (tensor.grad_fn is None and tensor._is_view())
    return (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel() > 0 and not is_known


def _saved(node: Any) -> tuple[Any, ...]:
    try:
        return tuple(node.saved_tensors)
    except RuntimeError:  # freed, or changed in place
        return ()
