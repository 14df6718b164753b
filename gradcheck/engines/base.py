"""What every engine provides, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import TensorError
from gradcheck.language.problem import Problem


@dataclass(frozen=True, slots=True)
class State:
    """What holds after one step. `values` and `gradients` are by name; parts of a tuple are named `m[0]`, `m[1]`.

    A gradient is None where none has arrived. `error` is what the step raised, if it did.
    """

    values: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray | None]
    error: TensorError | None = None


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


@dataclass(frozen=True, slots=True)
class Pullback:
    """For each differentiable array among an op's arguments (that is tracked), in order, the gradient."""

    gradients: tuple[np.ndarray | None, ...]
    error: TensorError | None = None


class Engine(Protocol):
    """Whoever can compute gradients."""

    name: str

    def evaluate(self, problem: Problem) -> Evaluation:
        """Run the graph and every step of the case."""
        ...

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Sequence[np.ndarray | None]], dtype: np.dtype
    ) -> list[Pullback]:
        """Run each op alone, and its gradient rule on the cotangents of its outputs (None: not differentiable)."""
        ...
