"""The base of define-by-run engines, which record a graph while computing.

If an engine's tensors have `requires_grad`, `grad` and `retain_grad()`, as torch's do, a subclass takes a page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.engines.base import (
    Application,
    Cotangents,
    Evaluation,
    ForwardAD,
    GradientBackend,
    Pullback,
    as_tensor_error,
)
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.recording import RecordedCall, Recorder, rebuild
from gradcheck.errors import GradcheckError, TensorError, Unsupported
from gradcheck.language.problem import Problem

#: Gradients by the names of inputs, of the inputs' shapes; None if no gradient flows.
Gradients = Mapping[str, np.ndarray | None]
#: The gradients of an op's tensors that need one, in order; None if the record does not provide them.
Shares = list[np.ndarray] | None


@dataclass(frozen=True, slots=True)
class SecondOrder:
    """By input: its gradient in one pass, and that of `<gradient, probe>`."""

    first: Gradients
    second: Gradients
    error: TensorError | None = None


class DefineByRun(GradientBackend):
    """An `Engine` that records a graph, by a `GradientBackend`'s methods."""

    #: Its own forward mode; without it, `jvp` takes gradients of gradients.
    forward_ad: ForwardAD | None = None

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """Return the context in which plain numbers take the case's dtype."""
        return using_default_dtype(dtypes.real_of(dtype))

    def fresh_session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """Return a session for a computation beside a case."""
        return self.session(dtype)

    def differentiate(self, roots: list[Any], leaves: list[Any], seeds: list[Any]) -> list[Any]:
        """Return the gradients of these leaves, differentiable again.

        They are tensors, differentiable with respect to tensor seeds too; None if none flows. Raises TensorError,
        Unsupported here."""
        raise Unsupported(f"{self.name} has no gradients of gradients")

    def jvp(
        self, roots: Sequence[Any], leaves: Sequence[Any], directions: Sequence[np.ndarray]
    ) -> list[np.ndarray | None]:
        """Return the roots' tangents, by gradients of gradients; None if constant."""
        incoming = [self.leaf(np.ones_like(self.array(root)), True) for root in roots]
        first = self.differentiate(list(roots), list(leaves), list(incoming)) if roots else []
        flowing = [
            (gradient, direction)
            for gradient, direction in zip(first, directions, strict=False)
            if gradient is not None and gradient.requires_grad
        ]
        if not flowing:
            return [None] * len(incoming)
        found = self.differentiate([g for g, _ in flowing], incoming, [direction for _, direction in flowing])
        return [None if tangent is None else self.array(tangent) for tangent in found]

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        """Run the graph and every step; only the core's tensors can be recorded."""
        with self.session(problem.dtype):
            return self.new_run(problem, recorder).evaluation()

    def forward_values(self, problem: Problem) -> list[Mapping[str, np.ndarray]]:
        """Return all values, in a list; empty if the graph cannot be evaluated."""
        with self.session(problem.dtype):
            run = self.evaluated_run(problem)
            return [] if run is None else [run.values]

    def new_run(self, problem: Problem, recorder: Recorder | None = None) -> GraphRun:
        """Return a run of a problem on this engine."""
        return GraphRun(self, problem, recorder)

    def evaluated_run(self, problem: Problem) -> GraphRun | None:
        """Return a run with its graph evaluated; None if it raises."""
        run = self.new_run(problem)
        try:
            run.run_graph()
        except GradcheckError:
            return None
        return run

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Run each op alone, and one pass over all; if it raises, one over each."""
        with self.session(dtype):
            runs = [OpRun(self, *one) for one in zip(applications, cotangents, strict=True)]
            roots = [root for run in runs for root in run.roots]
            seeds = [seed for run in runs for seed in run.seeds]
            if roots:
                try:
                    self.backward(roots, seeds, True)
                except GradcheckError:
                    for run in runs:
                        run.clear_gradients()
                        run.backward()
            return [run.pullback() for run in runs]

    def recorder(self) -> Recorder | None:
        """Return a recorder for `pull_back_recorded`; None if it cannot use one."""
        return None

    def pull_back_recorded(self, calls: Sequence[RecordedCall], cotangents: Sequence[np.ndarray]) -> list[Shares]:
        """Return the gradients by the rules of recorded calls."""
        return [None] * len(calls)

    def second_order(self, problem: Problem, step: int, probes: Gradients) -> SecondOrder:
        """Return gradients of one pass, and gradients of `<gradient, probe>`.

        For a scalar root the second is its Hessian times the probe, by a second pass through the first."""
        with self.session(problem.dtype):
            try:
                return self._second_order(self.new_run(problem), step, probes)
            except GradcheckError as error:
                return SecondOrder({}, {}, as_tensor_error(error))

    def _second_order(self, run: GraphRun, step: int, probes: Gradients) -> SecondOrder:
        run.run_graph()
        for index, action in enumerate(run.problem.case.steps[:step]):
            if action.action == "forward" and action.raises is None:
                run.forward(run.problem.forwards[index])
        leaves = {name: leaf for name, leaf in run.leaves.items() if leaf.requires_grad}
        seeds = run.problem.seeds[step]
        first = self._differentiated([run.tensor(name) for name in seeds], leaves, list(seeds.values()))
        probed = [
            (gradient, probes[name])
            for name, gradient in first.items()
            if gradient is not None and gradient.requires_grad and np.any(probes.get(name, 0.0))
        ]
        second = self._differentiated([root for root, _ in probed], leaves, [probe for _, probe in probed])
        return SecondOrder(self._arrays(first), self._arrays(second))

    def _differentiated(
        self, roots: list[Any], leaves: dict[str, Any], seeds: list[np.ndarray | None]
    ) -> dict[str, Any]:
        found = self.differentiate(roots, list(leaves.values()), seeds) if roots else [None] * len(leaves)
        return dict(zip(leaves, found, strict=True))

    def _arrays(self, tensors: dict[str, Any]) -> Gradients:
        return {name: None if tensor is None else self.array(tensor) for name, tensor in tensors.items()}


def last_backward_step(problem: Problem) -> int | None:
    """Return the last backward pass that raises nothing."""
    steps = problem.case.steps
    found = [index for index, step in enumerate(steps) if step.action == "backward" and step.raises is None]
    return found[-1] if found else None


def op_outputs(
    engine: GradientBackend, application: Application, tracked_leaf: Callable[[np.ndarray], Any]
) -> tuple[Any, ...]:
    """Return the op's outputs, with tracked arrays made by `tracked_leaf`."""
    tracked = iter(application.tracked or itertools.repeat(True))

    def leaf(array: np.ndarray) -> Any:
        if next(tracked) and dtypes.is_differentiable(array.dtype):
            return tracked_leaf(array)
        return engine.leaf(array, False)

    args, kwargs = rebuild(application.args, application.kwargs, leaf, engine.host.dtype)
    result = engine.host.call(application.op, args, kwargs)
    return result if type(result) is tuple else (result,)


class OpRun:
    """One op applied alone, on leaves of its own, and pulled back.

    leaves        a tensor for each tracked array among the arguments, in order
    roots, seeds  outputs that require a gradient and have a cotangent, and the cotangents
    error         the exception of the forward or the backward pass"""

    __slots__ = ("_engine", "error", "leaves", "roots", "seeds")

    def __init__(self, engine: GradientBackend, application: Application, cotangents: Cotangents) -> None:
        self._engine = engine
        self.leaves: list[Any] = []
        self.roots: list[Any] = []
        self.seeds: list[np.ndarray | None] = []
        self.error: TensorError | None = None
        shared: dict[int, Any] = {}

        def leaf(array: np.ndarray) -> Any:
            if id(array) not in shared or not application.shared:
                shared[id(array)] = engine.leaf(array, True)
            self.leaves.append(shared[id(array)])
            return self.leaves[-1]

        try:
            outputs = op_outputs(engine, application, leaf)
        except GradcheckError as error:
            self.error = as_tensor_error(error)
            return
        for output, cotangent in zip(outputs, cotangents, strict=False):
            if cotangent is not None and getattr(output, "requires_grad", False):
                self.roots.append(output)
                self.seeds.append(cotangent)

    def backward(self) -> None:
        """Run a pass from this op's roots; keep its exception."""
        if self.roots and self.error is None:
            try:
                self._engine.backward(self.roots, self.seeds, True)
            except GradcheckError as error:
                self.error = as_tensor_error(error)

    def clear_gradients(self) -> None:
        """Clear the gradients of an earlier pass."""
        for leaf in self.leaves:
            leaf.grad = None

    def pullback(self) -> Pullback:
        """Return the gradients that have arrived; none after an exception."""
        error, plain = self.error, self._engine.array
        if error is None and any(getattr(leaf, "unread", False) for leaf in self.leaves):
            error = as_tensor_error(Unsupported("a pass keeps no gradient of what it starts from, which is an input"))
        if error is None:
            try:
                return Pullback(tuple([None if leaf.grad is None else plain(leaf.grad) for leaf in self.leaves]))
            except GradcheckError as unreadable:
                error = as_tensor_error(unreadable)
        return Pullback((None,) * len(self.leaves), error, in_forward=self.error is not None and not self.roots)
