"""Gradients of gradients: what `<gradient, probe>`, over all inputs, changes by with each input.

For a scalar root that is its Hessian times the probe, by a second backward pass through the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.engines.base import as_tensor_error
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.perturbation import Perturbation
from gradcheck.errors import GradcheckError, TensorError
from gradcheck.language.problem import Problem

#: Arrays by the names of inputs, of the inputs' shapes; None where no gradient flows.
Gradients = Mapping[str, np.ndarray | None]


@dataclass(frozen=True, slots=True)
class SecondOrder:
    """By name, for each input: its gradient in one backward pass, and that of `<gradient, probe>`. `error` is what was
    raised on the way."""

    first: Gradients
    second: Gradients
    error: TensorError | None = None


def last_pass(problem: Problem) -> int | None:
    """The last step that is a backward pass and raises nothing."""
    steps = problem.case.steps
    found = [index for index, step in enumerate(steps) if step.action == "backward" and step.raises is None]
    return found[-1] if found else None


def second_order(
    engine: DefineByRun, problem: Problem, step: int, probes: Gradients, perturbation: Perturbation | None = None
) -> SecondOrder:
    """The gradients of one pass alone, and those of their product with the probes (arrays of the inputs' shapes)."""
    with engine.session(problem.dtype):
        try:
            return _second_order(engine, GraphRun(engine, problem, perturbation), step, probes)
        except GradcheckError as error:
            return SecondOrder({}, {}, as_tensor_error(error))


def _second_order(engine: DefineByRun, run: GraphRun, step: int, probes: Gradients) -> SecondOrder:
    run.run_graph()
    for index, action in enumerate(run.problem.case.steps[:step]):
        if action.action == "forward" and action.raises is None:
            run.forward(run.problem.forwards[index])
    names = [name for name, leaf in run.leaves.items() if leaf.requires_grad]
    leaves = [run.leaves[name] for name in names]
    seeds = run.problem.seeds[step]
    first = engine.differentiate([run.tensor(name) for name in seeds], leaves, list(seeds.values()))
    roots: list[Any] = []
    probed: list[np.ndarray | None] = []
    for name, gradient in zip(names, first, strict=True):
        probe = probes.get(name)
        if probe is not None and gradient is not None and gradient.requires_grad:
            roots.append(gradient)
            probed.append(probe)
    second = engine.differentiate(roots, leaves, probed) if roots else [None] * len(names)
    return SecondOrder(_arrays(engine, names, first), _arrays(engine, names, second))


def _arrays(engine: DefineByRun, names: list[str], tensors: list[Any]) -> Gradients:
    return {n: None if tensor is None else engine.array(tensor) for n, tensor in zip(names, tensors, strict=True)}
