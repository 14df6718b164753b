"""What every engine provides, and what it hands back.

A Tensor class needs none of this: `--engine file.py:Tensor` makes it an engine (see `tensor_class`). An `Engine` of
one's own is for all else, such as a library that differentiates functions:

    class Mine:
        name = "mine"                                  # in reports; one of its own for each engine of a run

        def evaluate(self, problem): ...               # a whole case: graph, passes, gradients of every named tensor
        def pull_back(self, applications, cotangents, dtype): ...  # ops alone

`--engine file.py:Mine`, an instance of it, or a name in the entry-point group `gradcheck.engines` all work, and
`gradcheck conform` and `gradcheck.testing.check_engine` try it. What an engine cannot express it says by an error of
the kind "unsupported" (raise `Unsupported` and hand it back with `as_tensor_error`): that is never a pass, and no
failure either. Whatever else it raises, in the way of `TensorError`, is compared with what the reference raises.

Optional are `timeout`, `own_dtype`, `conventions`, `output`, `session` and `parts`, which `time_limit`, `own_dtype`,
`conventions`, `take_output`, `session` and `op_composition` below read, `evaluate_bare` and `gives` (see
`tensor_class.bare`), and `Evaluation.changed`. A define-by-run engine
whose tensors have `requires_grad`, `grad` and `retain_grad()` is a page as a `DefineByRun`, whose `evaluate` can also
record ops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError, Place, TensorError
from gradcheck.facts import Fact
from gradcheck.language.evaluation.host import Host
from gradcheck.language.problem import Problem

#: What an op alone lacks whose result is somebody's choice (an eigenvector's phase) under a cotangent that sees it.
ILL_DEFINED = "a gradient that depends on no choice"
#: For each output of an op its cotangent, of the output's shape; None where there is none.
Cotangents = Sequence[np.ndarray | None]


@dataclass(frozen=True, slots=True)
class State:
    """What holds after one step. `values` and `gradients` are by name; parts of a tuple are named `m[0]`, `m[1]`.

    A gradient is None where none has arrived. `error` is what the step raised, if it did.
    """

    values: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray | None]
    error: TensorError | None = None
    #: Whose gradients the engine keeps to itself; they are not among `gradients`.
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One engine's answer to one problem: a state for each step, up to and including the first that went wrong
    unexpectedly. `failed_at` names the graph entry at which a forward pass broke."""

    engine: str
    states: tuple[State, ...]
    error: TensorError | None = None
    failed_at: str = ""
    #: Inputs and constants whose values the engine has changed: what they are now.
    changed: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Application:
    """One op applied in a graph, with the plain arrays it was applied to; for checking its rule alone."""

    op: Op
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    owner: str  # the graph entry it stands in
    tracked: tuple[bool, ...] = ()  # for each array among the arguments, whether it needs a gradient; empty: all
    recorded: Any = None  # the core's own result, where it was recorded: the core need not compute it again
    #: Shape and dtype of each output; None for one that has no gradient.
    outputs: tuple[tuple[tuple[int, ...], np.dtype] | None, ...] = ()
    #: Whether an array that stands in several places is one tensor there, as in `a - a`, and not several.
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Pullback:
    """For each differentiable array among an op's arguments (that is tracked), in order, the gradient: of a tensor that
    is shared, the whole of it in each of its places."""

    gradients: tuple[np.ndarray | None, ...]
    error: TensorError | None = None


@dataclass(frozen=True, slots=True)
class OpComposition:
    """What an engine makes one op of: the ops that are called in its place, none where it is called itself; and the
    names of the ops whose methods the engine's own method calls, and where that begins."""

    called: tuple[Application, ...] = ()
    methods: tuple[str, ...] = ()
    place: Place | None = None


class Engine(Protocol):
    """Whoever can compute gradients."""

    #: In reports, and in a case's `only`.
    name: str

    def evaluate(self, problem: Problem) -> Evaluation:
        """Run the graph and every step of the case, on copies of the problem's arrays.

        `gradcheck.language.evaluation.evaluate.evaluate(claim.expr, names, host)` evaluates an entry of
        `problem.case.graph` with ops applied by the engine's own `host`. A state after each step holds the values of
        all named tensors (parts of a tuple as `m[0]`), and the gradient of every input and graph entry: None where
        none has arrived. Gradients accumulate over steps until a `zero_grad`.
        """
        ...

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Run each op alone, and its gradient rule on the cotangents of its outputs (None: not differentiable).

        For each application a Pullback: a gradient for every floating or complex array among its arguments that is
        `tracked`, in their order, of the array's own shape and dtype. `dtype` is the case's.
        """
        ...


def as_tensor_error(error: GradcheckError, asked: str | None = None) -> TensorError:
    """The same error as one that an engine raises; `Unsupported` and the like keep their kind. What a library lacks is
    unsupported, too, unless a case asks for this very refusal: for the kind `asked`."""
    if isinstance(error, TensorError) and (not error.lacks or error.kind == asked):
        return error
    wrapped = TensorError(error.message, hint=error.hint)
    wrapped.kind, wrapped.lacks = "unsupported" if error.lacks else error.kind, error.lacks
    return wrapped


# What an engine may have besides --------------------------------------------------------------------


def time_limit(engine: Engine) -> float:
    """Its `timeout`: seconds for each case, unless the run has its own limit. 0 where it asks for none."""
    return float(getattr(engine, "timeout", 0.0))


def own_dtype(engine: Engine) -> str | None:
    """Its `own_dtype`: the only one in which it computes, by name. None where it is not said."""
    found = getattr(engine, "own_dtype", None)
    return None if found is None else str(found)


def conventions(engine: Engine) -> tuple[Fact, ...]:
    """Its `conventions`: what it does otherwise by design, as far as is known by now."""
    found: tuple[Fact, ...] = getattr(engine, "conventions", ())
    return found


def take_output(engine: Engine) -> str:
    """What its `output.take()` gives: all that was printed since the last time. Empty where it has no `output`."""
    output = getattr(engine, "output", None)
    return "" if output is None else str(output.take())


def session(engine: Engine, dtype: np.dtype) -> AbstractContextManager[None]:
    """Its `session(dtype)`: what must hold while cases of this dtype run, restored afterwards. It may be entered once
    around many cases, each of which enters it again. Nothing where it has none."""
    found = getattr(engine, "session", None)
    return nullcontext() if found is None else found(dtype)


def op_composition(engine: Engine, application: Application, dtype: np.dtype) -> OpComposition:
    """Its `parts(application, dtype)`: what it makes an op of. Nothing is known where it has no such method."""
    found = getattr(engine, "parts", None)
    return OpComposition() if found is None else found(application, dtype)


# Tensors one by one ---------------------------------------------------------------------------------


class TensorBackend(ABC):
    """Whoever computes with tensors of one type: plain NumPy, or an engine."""

    #: Applies ops.
    host: Host

    @property
    @abstractmethod
    def tensor_type(self) -> type:
        """What its ops return."""

    @abstractmethod
    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        """A new tensor with a copy of the array."""

    @abstractmethod
    def array(self, tensor: Any) -> np.ndarray:
        """The tensor's values; memory may be shared."""


class GradientBackend(TensorBackend):
    """One that records a graph while it computes. Its tensors have `requires_grad`, `grad` and `retain_grad()`."""

    name: str

    @abstractmethod
    def backward(self, roots: list[Any], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass from all roots at once; None stands for a gradient of 1. Raises TensorError."""


class ForwardAD(Protocol):
    """A backend's own forward mode: tensors that have a tangent."""

    @abstractmethod
    def level(self) -> AbstractContextManager[Any]:
        """Where tangents live: they are gone when it is left."""

    @abstractmethod
    def dual(self, tensor: Any, tangent: np.ndarray) -> Any:
        """The tensor with a tangent."""

    @abstractmethod
    def tangent(self, tensor: Any) -> Any:
        """The tangent that a tensor has, as a tensor; None where it has none."""
