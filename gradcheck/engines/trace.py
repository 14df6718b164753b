"""A case on the home-made core with every backward pass watched, and its tensors called by the names of the case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gradcheck.autograd.tensor import Tensor
from gradcheck.autograd.trace import Trace, trace
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import _Run, as_tensor_error
from gradcheck.engines.naming import Label, Names
from gradcheck.errors import GradcheckError, TensorError
from gradcheck.language.case import Case, Step
from gradcheck.language.problem import Problem


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step of a case. `trace` is there for backward passes alone; `error` is what the step raised, if it did.

    `unexpected` says that the case does not ask for it; the steps that follow are then not run.
    """

    index: int
    step: Step
    labels: Mapping[Tensor, Label] = field(default_factory=dict)
    trace: Trace | None = None
    error: TensorError | None = None

    @property
    def unexpected(self) -> bool:
        return self.error is not None and self.error.kind != self.step.raises


@dataclass(frozen=True, slots=True)
class TracedCase:
    """All steps of a case. An `error` at the graph entry `failed_at` kept the first from being reached."""

    case: Case
    steps: tuple[TracedStep, ...] = ()
    error: TensorError | None = None
    failed_at: str = ""


def trace_case(problem: Problem) -> TracedCase:
    """Run the graph and every step, as the engine `core` does."""
    core = _Watched()
    with core.session(problem.dtype), np.errstate(all="ignore"):
        run = _Run(core, problem, None, None)
        try:
            run.run_graph(run.leaves, run.arrays)
        except GradcheckError as error:
            return TracedCase(problem.case, (), as_tensor_error(error), run.failed_at)
        return TracedCase(problem.case, tuple(_steps(core, run)))


def _steps(core: _Watched, run: _Run) -> Iterator[TracedStep]:
    for index, step in enumerate(run.problem.case.steps):
        core.last = None
        raised = run.attempt(index, step)
        seen = core.last
        labels: dict[Tensor, Label] = Names(run.tensors, run.constants).of_trace(seen) if seen else {}
        traced = TracedStep(index, step, labels, seen, raised)
        yield traced
        if traced.unexpected:
            return


class _Watched(Core):
    """The core, whose last backward pass is remembered event by event."""

    last: Trace | None = None

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        self.last = trace(roots, seeds, retain_graph=retain_graph)
        if self.last.error is not None:
            raise self.last.error
