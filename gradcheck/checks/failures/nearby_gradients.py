"""Gradients of the reference so near to a point that only kinks show.

Subgradients at a kink are the hull of the gradients around it (Clarke, "Generalized gradients and applications",
Transactions of the AMS 205, 1975; sampled as by Burke, Lewis and Overton, "A robust gradient sampling algorithm",
SIAM J. Optimization 15(3), 2005).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import WrongOperation
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.double_precision import double_precision_array, double_precision_problem
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError
from gradcheck.language.expr.nodes import Call, Name
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.oracles.numeric.numeric_gradient import numeric_gradient
from gradcheck.oracles.numeric.objective import WideHost
from gradcheck.oracles.numeric.perturbed_array import ForwardPass

#: The relative distance of a move; in low precision, in units in the last place.
_NEAR, _UNITS = 2.0**-30, 4.0
#: How much less other numbers move; zeros may move less, since they hardly turn a direction.
_ALL, _ZEROS = 2.0**-16, 2.0**-26
_TINY = float(np.finfo(float).tiny)
#: The part of a move for differences, and how near to them a gradient must be.
_FINER, _BELIEVED = 2.0**-6, 1e-2
#: So many tries: of many elements at kinks, some lie just beyond another one.
_TIMES = 3

Arrays = Mapping[str, np.ndarray]


def gradients_of(evaluation: Evaluation, step: int) -> dict[str, np.ndarray]:
    """Return the gradients after a step in double precision; zeros for none."""
    state = evaluation.states[step]
    return {
        name: np.zeros(state.values[name].shape) if g is None else wide(g)
        for name, g in state.gradients.items()
        if g is not None or name in state.values
    }


class NearbyGradients(ABC):
    """Moves of arrays by name, and gradients there; see the subclasses."""

    intermediates: Collection[str] = ()

    def __init__(self, moved: Arrays, precision: np.dtype, seed: int) -> None:
        """Take the arrays to move, in double precision, and the case's precision."""
        self.movable = moved
        self.distance = max(_NEAR, _UNITS * epsilon(precision))
        self._generator = stream(seed, "close to a kink")

    @abstractmethod
    def gradients(self, moves: Arrays) -> dict[str, np.ndarray] | None:
        """Return the gradients after moves, in double precision; None for none."""

    def is_believable(self) -> bool:
        """Return whether differences confirm the gradients nearby."""
        return True

    def random_direction(self) -> Arrays:
        return {name: self._generator.standard_normal(array.shape) for name, array in self.movable.items()}

    def moves(self, direction: Arrays, is_straight: bool = False) -> dict[str, np.ndarray]:
        """Return moves along a direction of any length.

        Each number moves by a part of itself, a zero by one of the largest; with `is_straight`, in exactly this
        direction and none by more than that. All move a little, because a number that stands still may stay at its
        kink.
        """
        given = {name: direction[name].real for name in self.movable if name in direction}
        whole = {n: g / (largest_finite(g) or 1.0) for n, g in given.items()}
        parts = self._straight_parts(given) if is_straight else whole
        found = {}
        for name, array in self.movable.items():
            along = parts.get(name, 0.0) + (0.0 if is_straight and name in parts else self._small_moves(array))
            found[name] = self.distance * _sizes(array) * along
        return found

    def _small_moves(self, array: np.ndarray) -> np.ndarray:
        return self._generator.uniform(-1, 1, array.shape) * np.where(array == 0, _ZEROS, _ALL)

    def _straight_parts(self, given: Arrays) -> Arrays:
        """Return the slightly perturbed direction in parts of the numbers' sizes."""
        longest = max((largest_finite(g) for g in given.values()), default=0.0)
        parts = {}
        for name, g in given.items():
            sizes = _sizes(self.movable[name])
            along = g + longest * self._small_moves(self.movable[name])
            parts[name] = np.where(sizes > 0, along / np.maximum(sizes, _TINY), 0.0)
        largest = max((largest_finite(part) for part in parts.values()), default=0.0) or 1.0
        return {name: part / largest for name, part in parts.items()}


def _sizes(array: np.ndarray) -> np.ndarray:
    """Return each number's size: the largest for a zero, 0 for infinity."""
    sizes = np.where(array == 0, largest_finite(array) or 1.0, np.abs(array))
    return np.where(np.isfinite(sizes), sizes, 0.0)


class GraphNearbyGradients(NearbyGradients):
    """A case whose inputs move, and each entry of its graph as if free."""

    def __init__(self, point: Point, step: int) -> None:
        raised = double_precision_problem(point.problem)
        self.engine, self.step = point.engines.reference, step
        values, graph = point.want.states[0].values, point.problem.case.graph
        self._entries = {n: wide(values[n]) for n in graph if n in values and values[n].dtype.kind in "fV"}
        self.intermediates = self._entries.keys()
        self.problem = _with_offsets(raised, list(self._entries))
        inputs = {name: array for name, array in raised.inputs.items() if array.dtype.kind == "f"}
        super().__init__({**inputs, **self._entries}, point.problem.dtype, point.problem.seed)

    def gradients(self, moves: Arrays) -> dict[str, np.ndarray] | None:
        found = self.engine.evaluate(self._at(moves))
        return gradients_of(found, self.step) if self.step < len(found.states) else None

    def _at(self, moves: Arrays) -> Problem:
        inputs = self.problem.inputs
        there = {n: np.asarray(a + moves[n]) if n in moves else a for n, a in inputs.items()}
        offsets = {_offset(n): np.asarray(moves.get(n, np.zeros(array.shape))) for n, array in self._entries.items()}
        return replace(self.problem, inputs=there, constants={**self.problem.constants, **offsets})

    def is_believable(self) -> bool:
        return any(self._is_believable() for _ in range(_TIMES))

    def _is_believable(self) -> bool:
        moves = self.moves(self.random_direction())
        found, problem = self.gradients(moves), self._at(moves)
        if found is None:
            return False
        along = self.moves(self.random_direction())
        slope = rough = 0.0
        inputs = [name for name in self.movable if name not in self._entries]
        for name in inputs:
            if name not in found or not np.all(np.isfinite(found[name])):
                return False
            try:
                slope += self._slope(problem, name, along[name])
            except GradcheckError:
                return True  # no difference, so no evidence against it
            rough += float(np.sum(np.abs(found[name] * along[name])))
        claimed = sum(float(np.sum(found[name] * along[name])) for name in inputs)
        return bool(abs(slope - claimed) <= _BELIEVED * rough)

    def _slope(self, problem: Problem, name: str, along: np.ndarray) -> float:
        total = 0.0
        for objective in numeric_gradient(problem, name, self.step).objectives:
            rest = ForwardPass(at_rest=True)
            objective.terms(objective.point, rest)
            sides = [
                objective.terms(objective.point + sign * _FINER * along, ForwardPass(detached=rest.detached))
                for sign in (1.0, -1.0)
            ]
            total += float(np.sum((sides[0] - sides[1]).real)) / (2 * _FINER)
        return total


def _offset(entry: str) -> str:
    return f"{entry} moved by"


def _with_offsets(problem: Problem, entries: Sequence[str]) -> Problem:
    """Return the problem with a constant added to each of these entries."""
    moved = {n: replace(c, expr=Call("add", (c.expr, Name(_offset(n))))) if n in entries else c
             for n, c in problem.case.graph.items()}  # fmt: skip
    return replace(problem, case=replace(problem.case, graph=moved))


class OpNearbyGradients(NearbyGradients):
    """One op whose arguments move; gradients are named by their number."""

    def __init__(self, one: WrongOperation, engine: Engine, seed: int) -> None:
        application = one.application
        self.one, self.engine = one, engine
        flat = [double_precision_array(array) for array in arrays(application.args, application.kwargs)]
        self._flat, self._places = flat, gradient_positions(application)
        precision = one.application.outputs[0] if one.application.outputs else None
        moved = {str(i): flat[place] for i, place in enumerate(self._places) if flat[place].dtype.kind == "f"}
        super().__init__(moved, np.dtype(np.float64) if precision is None else precision[1], seed)

    def gradients(self, moves: Arrays) -> dict[str, np.ndarray] | None:
        there = list(self._flat)
        for name, move in moves.items():
            place = self._places[int(name)]
            there[place] = np.asarray(there[place] + move)
        position, host = iter(there), WideHost()
        application = self.one.application
        args, kwargs = rebuild(application.args, application.kwargs, lambda _: next(position), host.dtype)
        moved = replace(application, recorded=None, args=args, kwargs=kwargs)
        cotangents = [None if c is None else double_precision_array(c) for c in self.one.operation.cotangents]
        found = self.engine.pull_back([moved], [cotangents], np.dtype(np.float64))[0]
        if found.error:
            return None
        return {str(number): wide(g) for number, g in enumerate(found.gradients) if g is not None}
