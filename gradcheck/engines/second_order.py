"""Gradients of gradients: what `<gradient, probe>`, over all inputs, changes by with each input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gradcheck.engines.define_by_run import Tape, _Run, as_tensor_error
from gradcheck.engines.perturbation import Disturbance
from gradcheck.errors import GradcheckError, TensorError
from gradcheck.language.problem import Problem

Gradients = Mapping[str, np.ndarray | None]


@dataclass(frozen=True, slots=True)
class Second:
    """By name, for each input: its gradient in one backward pass, and that of `<gradient, probe>`; None where none
    flows. `error` is what was raised on the way."""

    first: Gradients
    second: Gradients
    error: TensorError | None = None


def last_pass(problem: Problem) -> int | None:
    """The last step that is a backward pass and raises nothing."""
    steps = problem.case.steps
    found = [index for index, step in enumerate(steps) if step.action == "backward" and step.raises is None]
    return found[-1] if found else None


def second_order(
    tape: Tape, problem: Problem, step: int, probes: Gradients, disturbance: Disturbance | None = None
) -> Second:
    """The gradients of one pass alone, and those of their product with the probes (arrays of the inputs' shapes)."""
    with tape.session(problem.dtype):
        try:
            return _second_order(tape, problem, step, probes, disturbance)
        except GradcheckError as error:
            return Second({}, {}, as_tensor_error(error))


def _second_order(
    tape: Tape, problem: Problem, step: int, probes: Gradients, disturbance: Disturbance | None
) -> Second:
    run = _Run(tape, problem, disturbance, None)
    run.run_graph(run.leaves, run.arrays)
    for index, action in enumerate(problem.case.steps[:step]):
        if action.action == "forward" and action.raises is None:
            run.forward(problem.forwards[index])
    names = [name for name, leaf in run.leaves.items() if leaf.requires_grad]
    leaves = [run.leaves[name] for name in names]
    seeds = problem.seeds[step]
    roots = {name: run.tensor(name) for name in seeds}
    first = tape.differentiate(list(roots.values()), leaves, [seeds[name] for name in roots])
    pairs = [
        (gradient, probe)
        for name, gradient in zip(names, first, strict=True)
        if gradient is not None and gradient.requires_grad and (probe := probes.get(name)) is not None
    ]
    second = [None] * len(names)
    if pairs:
        second = tape.differentiate([gradient for gradient, _ in pairs], leaves, [probe for _, probe in pairs])
    plain = [[None if one is None else tape.array(one) for one in found] for found in (first, second)]
    return Second(dict(zip(names, plain[0], strict=True)), dict(zip(names, plain[1], strict=True)))
