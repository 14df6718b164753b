"""The other side of a branch: numbers at which a comparison comes out as it has not yet.

From numbers where the graph is defined, inputs follow the gradient of the comparison's margin, until some of its
elements are a little beyond the threshold and others far beyond: a Gauss-Newton step with Polyak's length
("Introduction to Optimization", 1987, section 5.3). What states its bounds, as `uniform(low, high)` does, stays within
them; constants that are written out stay, and what is made of other leaves is made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd.backward import backward
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches import Margin, Site, margins
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random import RANDOM, is_free, stream
from gradcheck.language.sampling import in_file_order

#: Steps of one search; that far beyond a threshold elements are pushed, in turn, as a share of the margin's size.
_STEPS = 16
_BEYOND = (0.05, 3.0)
#: A case of more numbers is not searched.
_MOST = 100_000


class BranchSearch:
    """Looks for numbers from those of one problem. `gradients` are what claims may speak of; they are held fixed."""

    def __init__(self, problem: Problem, gradients: Mapping[str, Any]) -> None:
        self.problem, self.gradients = problem, gradients
        self._values: dict[str, Value] = dict(in_file_order(problem.case))
        arrays = {**problem.inputs, **problem.constants}
        self._fixed = {name: arrays[name] for name in self._values}
        self._free = {name for name in self._values if self._moves(name)}
        self._made = {name for name in self._values if self._is_made(name)}
        self._bounds = {name: self._limits(self._values[name]) for name in self._free}

    def _moves(self, name: str) -> bool:
        value, array = self._values[name], self._fixed[name]
        if array.dtype.kind not in "f" or value.dtype:
            return False
        return is_free(value) or (value.expr is None and name in self.problem.case.inputs)

    def _is_made(self, name: str) -> bool:
        expr = self._values[name].expr
        if expr is None or name in self._free or self._fixed[name].dtype.kind != "f":
            return False
        return RANDOM.isdisjoint(ops_in(expr)) and not free_names(expr).keys().isdisjoint(self._free)

    def _limits(self, value: Value) -> tuple[float, float]:
        """Between what its elements may be."""
        if not isinstance(value.expr, Call) or value.expr.op not in ("uniform", "rand"):
            return (-np.inf, np.inf)
        if value.expr.op == "rand":
            return (0.0, 1.0)
        low, high = (float(evaluate(bound, dict(self.problem.sizes))) for bound in value.expr.args[:2])
        return (low, high)

    def find(self, site: Site, side: int) -> Problem | None:
        """The problem with other numbers, some element of the comparison's margin being on this side of 0."""
        arrays = {name: self._fixed[name] for name in self._free}
        if not arrays or sum(array.size for array in arrays.values()) > _MOST:
            return None
        aim: _Aim | None = None
        found: Problem | None = None
        for _ in range(_STEPS):
            leaves = self._leaves(arrays)
            margin = self._margin(site, leaves)
            if margin is None:
                break
            numbers = margin.numbers
            if aim is None or aim.target.shape != numbers.shape:
                aim = _Aim.at(margin, side, stream(self.problem.seed, "branch", *site, side))
            if np.any(_arrived(numbers, side)):
                found = self._with(leaves)
            residual = aim.residual(numbers)
            tensor = margin.difference
            is_there = found is not None and float(np.abs(residual).max()) <= aim.tolerance
            if is_there or not np.any(residual) or not isinstance(tensor, Tensor) or not tensor.requires_grad:
                break
            arrays = self._stepped(arrays, leaves, tensor, residual)
        return found

    def _leaves(self, arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
        found: dict[str, Any] = dict(self.problem.sizes)
        for name in self._values:
            if name in self._made:
                made = evaluate(self._values[name].expr, found)  # type: ignore[arg-type]  # it has one
                found[name] = made if isinstance(made, Tensor) else Tensor.wrap(np.asarray(made))
            else:
                found[name] = Tensor.wrap(arrays.get(name, self._fixed[name]))
                found[name].requires_grad = name in self._free
        return {name: found[name] for name in self._values}

    def _margin(self, site: Site, leaves: Mapping[str, Tensor]) -> Margin | None:
        try:
            return margins(self.problem, leaves, self.gradients, (site.owner,)).get(site)
        except GradcheckError:
            return None

    def _stepped(
        self, arrays: Mapping[str, np.ndarray], leaves: Mapping[str, Tensor], margin: Tensor, residual: np.ndarray
    ) -> dict[str, np.ndarray]:
        with quiet():
            backward([margin], [residual.astype(margin.dtype)])
        slopes = {name: _finite(leaves[name].grad) for name in arrays}
        square = sum(float(np.sum(slope.astype(np.float64) ** 2)) for slope in slopes.values() if slope is not None)
        length = float(np.sum(residual**2)) / square if square > 0 else 0.0
        return {name: self._moved(name, array, slopes[name], length) for name, array in arrays.items()}

    def _moved(self, name: str, array: np.ndarray, slope: np.ndarray | None, length: float) -> np.ndarray:
        if slope is None:
            return array
        return np.asarray(np.clip(array - length * slope, *self._bounds[name])).astype(array.dtype)

    def _with(self, leaves: Mapping[str, Tensor]) -> Problem:
        arrays = {name: leaf.data for name, leaf in leaves.items()}
        problem = self.problem
        return replace(
            problem,
            inputs={name: arrays.get(name, array) for name, array in problem.inputs.items()},
            constants={name: arrays.get(name, array) for name, array in problem.constants.items()},
        )


def _finite(gradient: Tensor | None) -> np.ndarray | None:
    if gradient is None:
        return None
    return np.asarray(np.where(np.isfinite(gradient.data), gradient.data, 0))


@dataclass(frozen=True, slots=True)
class _Aim:
    """Which elements of a margin are to move, half of them, the nearest included; and to what numbers."""

    chosen: np.ndarray
    target: np.ndarray

    @classmethod
    def at(cls, margin: Margin, side: int, generator: np.random.Generator) -> _Aim:
        sizes = np.where(np.isfinite(margin.numbers), np.abs(margin.numbers), np.inf)
        chosen = generator.random(sizes.shape) < 0.5
        if sizes.size:
            chosen = chosen | (sizes == sizes.min())
        scale = np.where(margin.scale > 0, margin.scale, 1.0)
        is_far = np.arange(sizes.size).reshape(sizes.shape) % 2 == 1
        return cls(chosen, side * np.where(is_far, _BEYOND[1] * np.maximum(scale, 1), _BEYOND[0] * scale))

    def residual(self, numbers: np.ndarray) -> np.ndarray:
        """How far off the elements are."""
        return np.where(self.chosen & np.isfinite(numbers), numbers - self.target, 0.0)

    @property
    def tolerance(self) -> float:
        """Being so close is close enough."""
        return 0.5 * float(np.abs(self.target).min(initial=0.0, where=self.chosen)) + 1e-15


def _arrived(numbers: np.ndarray, side: int) -> np.ndarray:
    return np.asarray(np.sign(numbers) == side)
