"""One problem in one define-by-run engine: the graph, then each step.

All engines agree on the effects of a step:

- Gradients accumulate in inputs and in named intermediates alike, until `zero_grad` clears them.
- `forward` evaluates the graph again. Inputs keep their accumulated gradients, unless their shape changes; graph
  entries are new tensors, as in a training loop, and start without a gradient.
- A step that raises changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.base import Evaluation, GradientBackend, State, as_tensor_error
from gradcheck.engines.recording import Recorder
from gradcheck.errors import ArgumentError, GradcheckError, TensorError
from gradcheck.language.case import Claim, Step
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import Host
from gradcheck.language.problem import Problem, named_parts


class GraphRun:
    """A problem's tensors in one engine, and the steps taken so far.

    leaves     the inputs' tensors, by name
    constants  the constants' tensors, by name
    tensors    inputs and graph entries by name, after the graph is evaluated; parts of a tuple as `m[0]`
    values     the arrays of all tensors, and of graph entries that are plain numbers
    failed_at  the graph entry that is being evaluated, or at which evaluation raised; empty otherwise
    evaluated  whether the graph has been evaluated"""

    def __init__(
        self,
        engine: GradientBackend,
        problem: Problem,
        recorder: Recorder | None = None,
    ) -> None:
        """Ops go to the recorder, if there is one, else to the engine's host."""
        self.engine, self.problem, self.recorder = engine, problem, recorder
        self._host: Host = recorder or engine.host
        self._arrays: dict[str, np.ndarray] = {**problem.inputs, **problem.constants}
        self.leaves = {
            name: engine.leaf(array, dtypes.is_differentiable(array.dtype)) for name, array in problem.inputs.items()
        }
        self.constants = {name: engine.leaf(array, False) for name, array in problem.constants.items()}
        self.tensors: dict[str, Any] = {}
        self.values: dict[str, np.ndarray] = {}
        self.failed_at = ""
        self.evaluated = False

    def evaluation(self) -> Evaluation:
        """Return the states after each step, up to the first unexpected error."""
        name = self.engine.name
        try:
            if not self.evaluated:
                self.run_graph()
        except GradcheckError as error:
            return Evaluation(name, (), as_tensor_error(error, self.problem.case.steps[0].raises), self.failed_at)
        states: list[State] = []
        steps = self.problem.case.steps
        for index, step in enumerate(steps):
            raised = self.run_step(index, step)
            gradients = self._gradients(copied=index + 1 < len(steps))
            states.append(State(self.values, gradients, raised, frozenset(self.tensors.keys() - gradients.keys())))
            if raised is not None and step.raises is None:
                return Evaluation(name, tuple(states), raised, self.failed_at)
        return Evaluation(name, tuple(states))

    def run_graph(self) -> None:
        """Evaluate every entry, and close the recorder. Raises GradcheckError."""
        self._run_graph(self.leaves, self._arrays)
        if self.recorder:
            self.recorder.closed = True

    def run_step(self, index: int, step: Step) -> TensorError | None:
        """Take a step of the case; return its error, if any."""
        try:
            if step.action == "backward":
                seeds = self.problem.seeds[index]
                roots = [self.tensor(name) for name in step.roots]
                self.engine.backward(roots, [seeds[name] for name in step.roots], step.retain_graph)
            elif step.action == "zero_grad":
                self._zero_grad(step.names)
            else:
                self.forward(self.problem.forwards[index])
        except GradcheckError as error:
            return as_tensor_error(error, step.raises)
        return None

    def tensor(self, name: str) -> Any:
        """Return the tensor of a name; a plain number becomes a constant."""
        if name in self.tensors:
            return self.tensors[name]
        if name in self.constants:
            return self.constants[name]
        if name in self.values:
            return self.engine.leaf(self.values[name], False)
        raise GradcheckError(f"{name!r} is several tensors", hint=f"name one of them, such as {name}[0]")

    def forward(self, changed: Mapping[str, np.ndarray]) -> None:
        """Evaluate the graph again with changed arrays. Raises GradcheckError."""
        leaves, arrays = dict(self.leaves), {**self._arrays, **changed}
        for name, array in changed.items():
            old = self.leaves.get(name)
            if old is None:
                self.constants[name] = self.engine.leaf(array, False)
                continue
            leaves[name] = leaf = self.engine.leaf(array, old.requires_grad)
            if old.grad is not None and tuple(old.shape) == array.shape:
                leaf.grad = old.grad
        self._run_graph(leaves, arrays)

    def _run_graph(self, leaves: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Evaluate every entry; change nothing unless all succeed."""
        names: dict[str, Any] = {**self.problem.sizes, **leaves, **self.constants}
        tensors: dict[str, Any] = dict(leaves)
        values = dict(arrays)
        plain = self.engine.array
        kind: Any = self.engine.tensor_type
        recorder = None if self.recorder is None or self.recorder.closed else self.recorder
        for name, claim in self.problem.case.graph.items():
            self.failed_at = name
            if recorder:
                recorder.owner = name
            names[name] = result = self.compute_entry(name, claim, names)
            for part, tensor in ((name, result),) if type(result) is kind else named_parts(name, result):
                if type(tensor) is kind:
                    tensors[part] = tensor
                    if tensor.requires_grad:
                        tensor.retain_grad()
                    values[part] = plain(tensor)
                else:
                    values[part] = _number(part, tensor)
        self.failed_at, self.evaluated = "", True
        self.leaves, self._arrays, self.tensors, self.values = leaves, arrays, tensors, values

    def compute_entry(self, name: str, claim: Claim, names: Mapping[str, Any]) -> Any:
        """Return the value of an entry, given the names above it."""
        return evaluate(claim.expr, names, self._host)

    def _zero_grad(self, names: tuple[str, ...]) -> None:
        inside = tuple(f"{name}[" for name in names)
        for name, tensor in self.tensors.items():
            if not names or name in names or name.startswith(inside):
                tensor.grad = None

    def _gradients(self, copied: bool) -> dict[str, np.ndarray | None]:
        """Return accumulated gradients by name, without unread ones.

        They are `copied` if later steps might add to them in place. A constant is included only if a gradient, which
        it should not have, has arrived."""
        plain = self.engine.array
        found: dict[str, np.ndarray | None] = {}
        for name, tensor in (*self.tensors.items(), *self.constants.items()):
            is_changed = name not in self.tensors and getattr(tensor, "grad_fn", None) is not None  # in place, by code
            if is_changed or getattr(tensor, "unread", False):
                continue
            gradient = tensor.grad
            if gradient is not None:
                found[name] = plain(gradient).copy() if copied else plain(gradient)
            elif name in self.tensors:
                found[name] = None
        return found


def _number(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise ArgumentError(f"{name} is {value!r:.60}, no tensor", hint="a graph entry is a tensor or a number")
    return array
