"""How any define-by-run engine runs a case: the graph, line by line, then each step.

An engine whose tensors have `requires_grad`, `grad` and `retain_grad()`, as torch's do, is a subclass of a page.
What a step leaves behind is the same for all of them:

- Gradients accumulate in inputs and in named intermediates alike, until `zero_grad` forgets them.
- `forward` evaluates the graph again. Inputs keep what they have accumulated, unless their shape changes; graph
  entries are new tensors, as they would be in a training loop, and start without a gradient.
- A step that raises leaves everything as it was.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.arguments import rebuild
from gradcheck.engines.base import Application, Evaluation, Pullback, State
from gradcheck.engines.perturbation import Disturbance, DisturbingHost
from gradcheck.engines.recording import Recorder
from gradcheck.errors import ArgumentError, GradcheckError, TensorError, Unsupported
from gradcheck.language.case import Step
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import Host
from gradcheck.language.problem import Problem

Cotangents = Sequence[np.ndarray | None]
_DIFFERENTIABLE = "fcV"


class Tape(ABC):
    """An engine that records a graph while it computes."""

    name: str
    host: Host
    tensor_type: type

    @abstractmethod
    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """What must hold while a case of this dtype runs, restored afterwards."""

    @abstractmethod
    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        """A new tensor with a copy of the array."""

    @abstractmethod
    def array(self, tensor: Any) -> np.ndarray:
        """The tensor's values; memory may be shared."""

    @abstractmethod
    def backward(self, roots: list[Any], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass from all roots at once; None stands for a gradient of 1."""

    def differentiate(self, roots: list[Any], leaves: list[Any], seeds: list[np.ndarray | None]) -> list[Any]:
        """The gradients that flow from all roots to these leaves, as tensors that can be differentiated again; None
        where none does. Raises TensorError; an engine that cannot do it says so."""
        raise Unsupported(f"{self.name} has no gradients of gradients")

    def evaluate(
        self, problem: Problem, disturbance: Disturbance | None = None, recorder: Recorder | None = None
    ) -> Evaluation:
        """Run the graph and every step; with rounding errors made larger on purpose, where a disturbance is given.

        A recorder (for the core's tensors) is the host of the first evaluation of the graph.
        """
        with self.session(problem.dtype):
            return _Run(self, problem, disturbance, recorder).evaluation()

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Run each op alone, on leaves of its own, and one backward pass over all of them together."""
        with self.session(dtype):
            runs = [Alone(self, application) for application in applications]
            roots, seeds = [], []
            for run, incoming in zip(runs, cotangents, strict=True):
                run.pair(incoming)
                roots += run.roots
                seeds += run.seeds
            if roots:
                try:
                    self.backward(roots, seeds, True)
                except TensorError:
                    for run in runs:
                        run.backward_alone()
            return [run.pullback() for run in runs]


class _Run:
    """One problem on its way through one engine."""

    def __init__(
        self, tape: Tape, problem: Problem, disturbance: Disturbance | None, recorder: Recorder | None
    ) -> None:
        self.tape, self.problem, self.recorder = tape, problem, recorder
        self.disturbing = DisturbingHost(tape, disturbance) if disturbance else None
        self.host: Host = recorder or self.disturbing or tape.host
        self.arrays: dict[str, np.ndarray] = {**problem.inputs, **problem.constants}
        self.leaves = {
            name: tape.leaf(array, dtypes.is_differentiable(array.dtype)) for name, array in problem.inputs.items()
        }
        self.constants = {name: tape.leaf(array, False) for name, array in problem.constants.items()}
        self.tensors: dict[str, Any] = {}
        self.values: dict[str, np.ndarray] = {}
        self.failed_at = ""

    def evaluation(self) -> Evaluation:
        """The states after each step, up to and including the first that raised unexpectedly."""
        name = self.tape.name
        try:
            self.run_graph(self.leaves, self.arrays)
        except GradcheckError as error:
            return Evaluation(name, (), as_tensor_error(error), self.failed_at)
        if self.recorder:
            self.recorder.closed = True
        states: list[State] = []
        steps = self.problem.case.steps
        for index, step in enumerate(steps):
            raised = self.attempt(index, step)
            states.append(State(self.values, self.gradients(copied=index + 1 < len(steps)), raised))
            if raised is not None and step.raises is None:
                return Evaluation(name, tuple(states), raised, self.failed_at)
        return Evaluation(name, tuple(states))

    def attempt(self, index: int, step: Step) -> TensorError | None:
        try:
            if step.action == "backward":
                self.backward(index, step)
            elif step.action == "zero_grad":
                self.zero_grad(step.names)
            else:
                self.forward(self.problem.forwards[index])
        except GradcheckError as error:
            return as_tensor_error(error)
        return None

    def run_graph(self, leaves: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Evaluate every entry; nothing is changed unless all succeed."""
        names: dict[str, Any] = {**self.problem.sizes, **leaves, **self.constants}
        if self.disturbing:
            names |= {name: self.disturbing.shake(leaf) for name, leaf in leaves.items()}
        tensors: dict[str, Any] = dict(leaves)
        values = dict(arrays)
        plain, host = self.tape.array, self.host
        kind: Any = self.tape.tensor_type
        recorder = None if self.recorder is None or self.recorder.closed else self.recorder
        for name, claim in self.problem.case.graph.items():
            self.failed_at = name
            if recorder:
                recorder.owner = name
            names[name] = result = evaluate(claim.expr, names, host)
            for part, tensor in ((name, result),) if type(result) is kind else _parts(name, result):
                if type(tensor) is kind:
                    tensors[part] = tensor
                    if tensor.requires_grad:
                        tensor.retain_grad()
                    values[part] = plain(tensor)
                else:
                    values[part] = _number(part, tensor)
        self.failed_at = ""
        self.leaves, self.arrays, self.tensors, self.values = leaves, arrays, tensors, values

    def backward(self, index: int, step: Step) -> None:
        roots = [self.tensor(name) for name in step.roots]
        seeds = self.problem.seeds[index]
        self.tape.backward(roots, [seeds[name] for name in step.roots], step.retain_graph)

    def tensor(self, name: str) -> Any:
        """The tensor of this name; a plain number, such as a size, becomes one that requires no gradient."""
        if name in self.tensors:
            return self.tensors[name]
        if name in self.constants:
            return self.constants[name]
        if name in self.values:
            return self.tape.leaf(self.values[name], False)
        raise GradcheckError(f"{name!r} is several tensors", hint=f"name one of them, such as {name}[0]")

    def zero_grad(self, names: tuple[str, ...]) -> None:
        for name in names or self.tensors:
            if name in self.tensors:
                self.tensors[name].grad = None
            else:
                for part, tensor in self.tensors.items():
                    if part.startswith(f"{name}["):
                        tensor.grad = None

    def forward(self, changed: Mapping[str, np.ndarray]) -> None:
        leaves, arrays = dict(self.leaves), {**self.arrays, **changed}
        for name, array in changed.items():
            old = self.leaves.get(name)
            if old is None:
                self.constants[name] = self.tape.leaf(array, False)
                continue
            leaves[name] = leaf = self.tape.leaf(array, old.requires_grad)
            if old.grad is not None and tuple(old.shape) == array.shape:
                leaf.grad = old.grad
        self.run_graph(leaves, arrays)

    def gradients(self, copied: bool) -> dict[str, np.ndarray | None]:
        """What has accumulated, by name; copied where later steps might add to it in place. A constant is among them
        only if a gradient has arrived there, where none should."""
        plain = self.tape.array
        found: dict[str, np.ndarray | None] = {}
        for name, tensor in self.tensors.items():
            gradient = tensor.grad
            if gradient is None:
                found[name] = None
            else:
                found[name] = plain(gradient).copy() if copied else plain(gradient)
        for name, tensor in self.constants.items():
            gradient = tensor.grad
            if gradient is not None:
                found[name] = plain(gradient).copy()
        return found


class Alone:
    """One application of an op, on leaves of its own."""

    __slots__ = ("error", "leaves", "outputs", "roots", "seeds", "tape")

    def __init__(self, tape: Tape, application: Application) -> None:
        self.tape = tape
        self.leaves: list[Any] = []
        self.outputs: tuple[Any, ...] = ()
        self.roots: list[Any] = []
        self.seeds: list[np.ndarray | None] = []
        self.error: TensorError | None = None
        tracked = iter(application.tracked or itertools.repeat(True))
        leaves, make = self.leaves, tape.leaf

        def leaf(array: np.ndarray) -> Any:
            if next(tracked) and array.dtype.kind in _DIFFERENTIABLE:
                tensor = make(array, True)
                leaves.append(tensor)
                return tensor
            return make(array, False)

        try:
            args, kwargs = rebuild(application.args, application.kwargs, leaf, tape.host.dtype)
            result = tape.host.call(application.op, args, kwargs)
        except GradcheckError as error:
            self.error = as_tensor_error(error)
        else:
            self.outputs = result if type(result) is tuple else (result,)

    def pair(self, cotangents: Cotangents) -> None:
        """Choose what the backward pass starts from: outputs that require a gradient and have a cotangent."""
        for output, cotangent in zip(self.outputs, cotangents, strict=False):
            if cotangent is not None and getattr(output, "requires_grad", False):
                self.roots.append(output)
                self.seeds.append(cotangent)

    def backward_alone(self) -> None:
        """Once more, after the joint pass has failed, to find out whose fault it was."""
        for leaf in self.leaves:
            leaf.grad = None
        if self.roots and self.error is None:
            try:
                self.tape.backward(self.roots, self.seeds, True)
            except TensorError as error:
                self.error = error

    def pullback(self) -> Pullback:
        """The gradients that have arrived."""
        plain = self.tape.array
        return Pullback(tuple([None if leaf.grad is None else plain(leaf.grad) for leaf in self.leaves]), self.error)


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value by name; the parts of a tuple as `m[0]`, `m[1]`."""
    if isinstance(value, (tuple, list)):
        for index, part in enumerate(value):
            yield from _parts(f"{name}[{index}]", part)
    else:
        yield name, value


def _number(name: str, value: Any) -> np.ndarray:
    """A plain number, such as a size, as an array."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise ArgumentError(f"{name} is {value!r:.60}, no tensor", hint="a graph entry is a tensor or a number")
    return array


def as_tensor_error(error: GradcheckError) -> TensorError:
    """The same error as one that an engine raises; `Unsupported` and the like keep their kind."""
    if isinstance(error, TensorError):
        return error
    wrapped = TensorError(error.message, hint=error.hint)
    wrapped.kind, wrapped.lacks = error.kind, error.lacks
    return wrapped
