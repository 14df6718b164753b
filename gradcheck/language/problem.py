"""Problem: a case with concrete arrays, sizes and incoming gradients; ready for any engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.language.case import Case


@dataclass(frozen=True, slots=True)
class Drawn:
    """By what a problem's numbers were drawn: `sampling.draw` gives the same for the same."""

    seed: int = 0
    trial: int | None = None  # None: the case's own numbers; trials count from 0
    attempt: int = 0  # how many drawings of this trial did not fit the graph
    nudged: bool = False  # whether literal inputs were moved a little


@dataclass(frozen=True, slots=True)
class Problem:
    """Arrays in their final dtypes, by name.

    `seeds[i]` holds the incoming gradients of step i, each in the shape of its root, None meaning 1.
    """

    case: Case
    inputs: Mapping[str, np.ndarray]
    constants: Mapping[str, np.ndarray]
    sizes: Mapping[str, int] = field(default_factory=dict)  # dims, and the words of `shapes`
    seeds: tuple[Mapping[str, np.ndarray | None], ...] = ()
    forwards: tuple[Mapping[str, np.ndarray], ...] = ()  # new input values of step i, {} unless it is a forward
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float64))
    drawn: Drawn = Drawn()

    @property
    def seed(self) -> int:
        """The seed that its numbers were drawn with; whatever else is drawn for it takes its streams from the same."""
        return self.drawn.seed

    def environment(self) -> dict[str, Any]:
        """Everything that a graph's first expression may name."""
        return {**self.sizes, **self.inputs, **self.constants}
