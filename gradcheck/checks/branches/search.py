"""The other side of a branch: numbers at which a comparison comes out as it has not yet.

From numbers where the graph is defined, whatever was drawn at random follows the gradient of the comparison's margin,
and so do literal inputs and incoming gradients, until some elements are a little beyond the threshold and others far
beyond: Gauss-Newton steps with Polyak's length ("Introduction to Optimization", 1987, section 5.3). What states its
bounds, as `uniform(low, high)` does, stays within them; constants that are written out stay, and what is made of other
leaves is made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.backward import backward
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.sites import Margin, Site, as_array, margins
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.problem import Problem
from gradcheck.language.random import RANDOM, is_free, stream
from gradcheck.language.sampling import in_file_order, random_parts
from gradcheck.language.trials import Variation, inner_roots, is_rigid

#: Steps of one search, and how many of them may bring it no nearer; how far beyond a threshold elements are pushed, in
#: turn, as a share of what is compared.
_STEPS = 16
_PATIENCE = 2
_BEYOND = (0.05, 3.0, 0.002)
#: A case of more numbers is not searched.
_MOST = 100_000
#: Creators whose elements lie between 0 and 1, and those that state their bounds.
_UNIT, _BOUNDED = ("rand", "rand_like"), ("uniform", "uniform_like")


class Part(NamedTuple):
    """What can move: the how-manieth random creator of a leaf, a literal input, or the incoming gradient of a root."""

    name: str
    number: int = 0
    is_incoming: bool = False


class BranchSearch:
    """Looks for numbers from those of one problem. `gradients` are what claims may speak of; they are held fixed, but
    for the incoming ones."""

    def __init__(self, problem: Problem, gradients: Mapping[str, Any]) -> None:
        self.problem, self.gradients = problem, gradients
        self._values = dict(in_file_order(problem.case))
        leaves = {**problem.inputs, **problem.constants}
        self._fixed = {name: leaves[name] for name in self._values}
        self._bounds: dict[Part, tuple[float, float]] = {}
        self._start = {**self._drawn(), **self._incoming()}
        self._moving = {part for part, array in self._start.items() if array.dtype.kind == "f"}

    def _drawn(self) -> dict[Part, np.ndarray]:
        found: dict[Part, np.ndarray] = {}
        for name, value in self._values.items():
            if value.expr is not None:
                parts = random_parts(self.problem, name)
                found |= {Part(name, number): array for number, array in enumerate(parts)}
            elif name in self.problem.case.inputs:
                found[Part(name)] = self._fixed[name]
        return found

    def _incoming(self) -> dict[Part, np.ndarray]:
        """Those of a single pass that are random, or that a claim which speaks of them must hold for all of."""
        case = self.problem.case
        if len(case.steps) != 1:
            return {}
        inner = inner_roots(case)
        return {
            Part(root, is_incoming=True): np.asarray(self.gradients[root])
            for root, value in case.steps[0].roots.items()
            if root not in inner and root in self.gradients and ((value and is_free(value)) or is_rigid(case, value))
        }

    def find(self, site: Site, side: int) -> Problem | None:
        """The problem with other numbers, some element of the comparison's margin being on this side of 0."""
        arrays = dict(self._start)
        if not self._moving or sum(array.size for array in arrays.values()) > _MOST:
            return None
        found: Problem | None = None
        aim: _Aim | None = None
        stuck, before = 0, np.inf
        for _ in range(_STEPS):
            tensors = {part: _leaf(array, part in self._moving) for part, array in arrays.items()}
            leaves, margin = self._at(site, tensors)
            if margin is None:
                break
            if aim is None or aim.target.shape != margin.numbers.shape:
                aim = _Aim.at(site, side, margin, stream(self.problem.seed, "branch", *site, side))
            if site.is_on(margin.numbers, side):
                found = self._with(leaves, arrays)
            residual = aim.residual(margin.numbers)
            left = float(np.linalg.norm(residual))
            stuck, before = stuck + (left > 0.9 * before), left
            tensor = margin.difference
            is_there = found is not None and float(np.abs(residual).max(initial=0.0)) <= aim.tolerance
            if is_there or not left or stuck == _PATIENCE or not (isinstance(tensor, Tensor) and tensor.requires_grad):
                break
            arrays = self._stepped(tensors, tensor, residual)
        return found

    def _at(self, site: Site, tensors: Mapping[Part, Tensor]) -> tuple[dict[str, Tensor], Margin | None]:
        """The leaves that are made of these, and the margin there; None where it has none."""
        incoming = {part.name: tensor for part, tensor in tensors.items() if part.is_incoming}
        try:
            leaves = self._leaves(tensors)
            found = margins(self.problem, leaves, {**self.gradients, **incoming}, (site.owner,))
        except GradcheckError:
            return {}, None
        return leaves, found.get(site)

    def _leaves(self, tensors: Mapping[Part, Tensor]) -> dict[str, Tensor]:
        found: dict[str, Any] = dict(self.problem.sizes)
        for name, value in self._values.items():
            if Part(name) in tensors:
                made = tensors[Part(name)]
                if value.expr is not None:
                    made = evaluate(value.expr, found, _Parts(name, tensors, self._bounds))
                found[name] = made if made.dtype == self._fixed[name].dtype else self._fixed[name]
            elif value.expr is not None and self._fixed[name].dtype.kind == "f":
                found[name] = evaluate(value.expr, found)
            else:
                found[name] = self._fixed[name]
        return {name: _as_tensor(found[name]) for name in self._values}

    def _stepped(self, tensors: Mapping[Part, Tensor], margin: Tensor, residual: np.ndarray) -> dict[Part, np.ndarray]:
        with quiet():
            backward([margin], [residual.astype(margin.dtype)])
        slopes = {part: _finite(tensor.grad) for part, tensor in tensors.items()}
        square = sum(float(np.sum(slope.astype(np.float64) ** 2)) for slope in slopes.values() if slope is not None)
        length = float(np.sum(residual**2)) / square if square > 0 else 0.0
        return {part: self._moved(part, tensor.data, slopes[part], length) for part, tensor in tensors.items()}

    def _moved(self, part: Part, array: np.ndarray, slope: np.ndarray | None, length: float) -> np.ndarray:
        if slope is None:
            return array
        low, high = self._bounds.get(part, (-np.inf, np.inf))
        return np.asarray(np.clip(array - length * slope, low, high)).astype(array.dtype)

    def _with(self, leaves: Mapping[str, Tensor], arrays: Mapping[Part, np.ndarray]) -> Problem:
        """The problem with these numbers; it says so where an incoming gradient that the file writes out is another."""
        problem, case = self.problem, self.problem.case
        incoming = {part.name: array for part, array in arrays.items() if part.is_incoming}
        changed = {root for root, array in incoming.items() if not np.array_equal(array, self.gradients[root])}
        seeds = problem.seeds
        if changed:
            seeds = ({**seeds[0], **{root: incoming[root] for root in changed}},)
        drawn = problem.drawn
        if any(is_rigid(case, case.steps[0].roots[root]) for root in changed):
            drawn = replace(drawn, variation=Variation(drawn.variation.literals, incoming=True))
        return replace(
            problem,
            inputs={name: leaves[name].data for name in problem.inputs},
            constants={name: leaves[name].data for name in problem.constants},
            seeds=seeds,
            drawn=drawn,
        )


class _Parts(NumPy):
    """NumPy and the core, with given tensors for what the random creators of one leaf make."""

    def __init__(self, name: str, tensors: Mapping[Part, Tensor], bounds: dict[Part, tuple[float, float]]) -> None:
        self._name, self._tensors, self._bounds = name, tensors, bounds
        self._count = 0

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result."""
        if op.name not in RANDOM:
            return op(*args, **kwargs)
        part = Part(self._name, self._count)
        self._count += 1
        if op.name in _UNIT:
            self._bounds[part] = (0.0, 1.0)
        elif op.name in _BOUNDED:
            first = int(op.name != "uniform")
            limits = [float(as_array(limit)) for limit in args[first : first + 2] if np.ndim(as_array(limit)) == 0]
            self._bounds[part] = (limits[0], limits[1]) if len(limits) == 2 else (-np.inf, np.inf)
        return self._tensors[part]


def _leaf(array: np.ndarray, moves: bool) -> Tensor:
    tensor = Tensor.wrap(array)
    tensor.requires_grad = moves
    return tensor


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor.wrap(np.asarray(value))


def _finite(gradient: Tensor | None) -> np.ndarray | None:
    if gradient is None:
        return None
    return np.asarray(np.where(np.isfinite(gradient.data), gradient.data, 0))


@dataclass(frozen=True, slots=True)
class _Aim:
    """Which elements of a margin are to move, all or half of them, the nearest included; and to what numbers."""

    chosen: np.ndarray
    target: np.ndarray

    @classmethod
    def at(cls, site: Site, side: int, margin: Margin, generator: np.random.Generator) -> _Aim:
        sizes = np.where(np.isfinite(margin.numbers), np.abs(margin.numbers), np.inf)
        chosen = (generator.random(sizes.shape) < 0.5) | (abs(side) == 2)
        if sizes.size:
            chosen = chosen | (sizes == sizes.min())
        scale = np.where(margin.scale > 0, margin.scale, 1.0)
        turn = np.arange(sizes.size).reshape(sizes.shape) % len(_BEYOND)
        beyond = np.choose(turn, [share * (np.maximum(scale, 1) if share > 1 else scale) for share in _BEYOND])
        return cls(chosen, site.sign_of(side) * beyond)

    def residual(self, numbers: np.ndarray) -> np.ndarray:
        """How far off the elements are."""
        return np.where(self.chosen & np.isfinite(numbers), numbers - self.target, 0.0)

    @property
    def tolerance(self) -> float:
        """Being so close is close enough."""
        return 0.5 * float(np.abs(self.target).min(initial=np.inf, where=self.chosen)) if np.any(self.target) else 1e-15
