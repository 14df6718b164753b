"""The protocol of an engine, and the values that it exchanges.

A Tensor class needs none of this: `--engine file.py:Tensor` makes it an engine (see `tensor_class`). Implement
`Engine` for all else, such as a library that differentiates functions:

    class Mine:
        name = "mine"                                  # in reports; unique among the engines of a run

        def evaluate(self, problem): ...               # a whole case: graph, passes, gradients of every named tensor
        def pull_back(self, applications, cotangents, dtype): ...  # ops alone

`--engine file.py:Mine`, an instance of it, or a name in the entry-point group `gradcheck.engines` all work, and
`gradcheck conform` and `gradcheck.testing.check_engine` test it. An engine reports a feature that it lacks by an
error of the kind "unsupported" (raise `Unsupported`, return it by `as_tensor_error`): neither a pass nor a failure.
Any other error is returned as a `TensorError`, and compared with the reference's.

Optional are `timeout`, `own_dtype`, `conventions`, `output`, `session` and `parts`, which `time_limit`, `own_dtype`,
`conventions`, `take_output`, `session` and `op_composition` below read, the methods of `AdaptedEngine`, and
`Evaluation.changed`. If its tensors have `requires_grad`, `grad` and `retain_grad()`, a subclass of `DefineByRun` takes
a page, and its `evaluate` can record ops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError, Place, TensorError
from gradcheck.facts import Fact
from gradcheck.language.evaluation.host import Host
from gradcheck.language.problem import Problem

#: The missing feature of an op whose result is arbitrary (an eigenvector's phase) if the cotangent depends on it.
ILL_DEFINED = "a gradient that depends on no choice"
#: The cotangent of each output of an op, of the output's shape; None for an output without one.
Cotangents = Sequence[np.ndarray | None]


@dataclass(frozen=True, slots=True)
class State:
    """Values and gradients by name after one step.

    Parts of a tuple are named `m[0]`, `m[1]`. A gradient is None if none has arrived. `error` is the step's
    exception."""

    values: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray | None]
    error: TensorError | None = None
    #: Tensors whose gradients the engine does not expose; they are not among `gradients`.
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One engine's states after each step of a problem.

    They end with the first step that raised unexpectedly. `failed_at` is the graph entry at which a forward pass
    raised."""

    engine: str
    states: tuple[State, ...]
    error: TensorError | None = None
    failed_at: str = ""
    #: The new values of inputs and constants that the engine has changed.
    changed: Mapping[str, np.ndarray] = field(default_factory=dict)

    def state(self, step: int) -> State:
        """Return the state after a step, without numbers if there is none."""
        return self.states[step] if step < len(self.states) else State({}, {})


@dataclass(frozen=True, slots=True)
class Application:
    """One op applied in a graph to plain arrays, for checking its rule alone."""

    op: Op
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    owner: str  # the graph entry it stands in
    tracked: tuple[bool, ...] = ()  # for each array among the arguments, whether it needs a gradient; empty: all
    recorded: Any = None  # the core's own result, if recorded: the core need not compute it again
    #: Shape and dtype of each output; None for one that has no gradient.
    outputs: tuple[tuple[tuple[int, ...], np.dtype] | None, ...] = ()
    #: Whether an array in several argument places is one tensor, as in `a - a`.
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Pullback:
    """The gradients of an op's tracked differentiable arrays, in order.

    A tensor in several places has its whole gradient in each of them. `in_forward` is set if the op itself raises."""

    gradients: tuple[np.ndarray | None, ...]
    error: TensorError | None = None
    in_forward: bool = False


@dataclass(frozen=True, slots=True)
class OpComposition:
    """The parts of one op in an engine.

    `called` are the ops that the engine calls in its place, empty if it calls the op itself; `methods` are the names
    of the ops whose methods the engine's own method calls, and `place` is where that method begins."""

    called: tuple[Application, ...] = ()
    methods: tuple[str, ...] = ()
    place: Place | None = None


class Engine(Protocol):
    """The interface of an engine."""

    #: In reports, and in a case's `only`.
    name: str

    def evaluate(self, problem: Problem) -> Evaluation:
        """Run the graph and every step of the case, on copies of the arrays.

        `gradcheck.language.evaluation.evaluate.evaluate(claim.expr, names, host)` evaluates an entry of
        `problem.case.graph` with the engine's own `host`. A state after each step holds the values of all named
        tensors (parts of a tuple as `m[0]`), and the gradient of every input and graph entry: None if none has
        arrived. Gradients accumulate over steps until a `zero_grad`."""
        ...

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Run each op alone, and its gradient rule on its outputs' cotangents.

        Return a Pullback for each application: a gradient for every floating or complex array among its arguments
        that is `tracked`, in order, of the array's own shape and dtype. A cotangent of None marks an output without a
        gradient. `dtype` is the case's."""
        ...


def as_tensor_error(error: GradcheckError, expected_kind: str | None = None) -> TensorError:
    """Return the error as a TensorError of the same kind.

    An error with `lacks` becomes "unsupported", unless its kind is the one that the case expects."""
    if isinstance(error, TensorError) and (not error.lacks or error.kind == expected_kind):
        return error
    wrapped = TensorError(error.message, hint=error.hint)
    wrapped.kind, wrapped.lacks = "unsupported" if error.lacks else error.kind, error.lacks
    return wrapped


# Optional attributes of an engine -------------------------------------------------------------------


def time_limit(engine: Engine) -> float:
    """Return the engine's `timeout` in seconds for a case; 0 without one."""
    return float(getattr(engine, "timeout", 0.0))


def own_dtype(engine: Engine) -> str | None:
    """Return the name of the only dtype in which the engine computes, if any."""
    found = getattr(engine, "own_dtype", None)
    return None if found is None else str(found)


def conventions(engine: Engine) -> tuple[Fact, ...]:
    """Return the intended deviations from torch that are known by now."""
    found: tuple[Fact, ...] = getattr(engine, "conventions", ())
    return found


def take_output(engine: Engine) -> str:
    """Return all that the engine printed since the last call."""
    output = getattr(engine, "output", None)
    return "" if output is None else str(output.take())


def session(engine: Engine, dtype: np.dtype) -> AbstractContextManager[None]:
    """Return the context in which the engine runs cases of this dtype.

    It may be entered once around many cases, each of which enters it again."""
    found = getattr(engine, "session", None)
    return nullcontext() if found is None else found(dtype)


def op_composition(engine: Engine, application: Application, dtype: np.dtype) -> OpComposition:
    """Return the parts of an op by the engine's `parts`; empty without it."""
    found = getattr(engine, "parts", None)
    return OpComposition() if found is None else found(application, dtype)


@runtime_checkable
class AdaptedEngine(Engine, Protocol):
    """An engine of a Tensor class, with the parts that its adapter adds."""

    def evaluate_bare(self, problem: Problem) -> Evaluation:
        """Return the evaluation on the bare graph: see `BackwardEngine`."""
        ...

    def accepts_seeds(self, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
        """Return whether passes give leaves like the roots these gradients."""
        ...

    def has_rule(self, op: Op) -> bool:
        """Return whether the class may have its own rule for an op."""
        ...

    def comparisons(self) -> AbstractContextManager[Any]:
        """Count comparisons of the class's objects in the block."""
        ...

    def line_of_mistake(self, kind: str, problem: Problem) -> Place | None:
        """Return the line of its pass that makes a mistake, or its beginning."""
        ...


# Backends -------------------------------------------------------------------------------------------


class TensorBackend(ABC):
    """A backend that computes with tensors of one type: NumPy, or an engine."""

    #: Applies ops.
    host: Host

    @property
    @abstractmethod
    def tensor_type(self) -> type:
        """The type of the results of its ops."""

    @abstractmethod
    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        """Return a new tensor with a copy of the array."""

    @abstractmethod
    def array(self, tensor: Any) -> np.ndarray:
        """Return the tensor's values; memory may be shared."""


class GradientBackend(TensorBackend):
    """A backend that records a graph while it computes.

    Its tensors have `requires_grad`, `grad` and `retain_grad()`."""

    name: str

    @abstractmethod
    def backward(self, roots: list[Any], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """Run one pass from all roots at once. Raises TensorError.

        A seed of None stands for a gradient of 1."""


class ForwardAD(Protocol):
    """The forward mode of a backend: tensors with tangents."""

    @abstractmethod
    def level(self) -> AbstractContextManager[Any]:
        """Return the context in which tangents exist."""

    @abstractmethod
    def dual(self, tensor: Any, tangent: np.ndarray) -> Any:
        """Return the tensor with a tangent."""

    @abstractmethod
    def tangent(self, tensor: Any) -> Any:
        """Return the tangent of a tensor, as a tensor; None if it has none."""
