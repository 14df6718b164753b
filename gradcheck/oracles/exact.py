"""The exact oracle: proves a gradient formula by evaluating both sides at random points of a finite field.

The directional derivative of the forward, by dual numbers, owes nothing to any gradient rule. If a formula G differs
from the true gradient, `<G, V> - D` is a polynomial (or a fraction of two) that is not zero, and vanishes at a random
point with a probability of at most its degree over the prime (Schwartz 1980, Zippel 1979). Points are added until the
product of these bounds is below `BOUND`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.errors import GradcheckError, ShapeMismatch, Unsupported
from gradcheck.language.case import Case, Claim, Value
from gradcheck.language.derive import derive
from gradcheck.language.evaluate import evaluate, free_names, gradient_names
from gradcheck.language.expr import Call, Expr
from gradcheck.language.problem import Problem
from gradcheck.oracles import modular, residue_functions, residue_ops
from gradcheck.oracles.chain import Chain, Matrix
from gradcheck.oracles.residue import Degree, Point, Residue, lift

assert residue_ops
assert residue_functions

#: How unlikely it must be that a wrong formula is accepted.
BOUND = 1e-18
#: A claim whose degree asks for more points than this is left to another oracle.
MAX_POINTS = 8

#: Creators whose every element is a free variable.
_FREE = frozenset({"randn", "rand", "uniform", "normal"})


@dataclass(frozen=True, slots=True)
class Proof:
    """What the oracle found out about one claim. `bound` is the probability of accepting a wrong one."""

    status: Literal["proved", "refuted", "unsupported"]
    points: int = 0
    degree: int = 0
    bound: float = 1.0
    invented: tuple[str, ...] = ()
    why: str = ""


def prove(problem: Problem, claims: Iterable[tuple[str, Claim]], seed: int = 0) -> list[Proof]:
    """For each `(tensor, formula)`, whether it is the tensor's gradient, at this problem's sizes and for any values."""
    listed = list(claims)
    why = _unfit(problem.case)
    if why:
        return [Proof("unsupported", why=why) for _ in listed]
    trackers = [_Tracker() for _ in listed]
    for number in range(MAX_POINTS):
        going = [(tracker, claim) for tracker, claim in zip(trackers, listed, strict=True) if not tracker.done]
        if not going:
            break
        try:
            scene = _Scene(problem, number, seed)
        except GradcheckError as error:
            for tracker, _ in going:
                tracker.give_up(error)
            break
        for tracker, (name, claim) in going:
            tracker.hear(scene, name, claim)
    return [tracker.proof() for tracker in trackers]


@dataclass(slots=True)
class _Tracker:
    """One claim on its way."""

    points: int = 0
    degree: int = 0
    bound: float = 1.0
    refuted: bool = False
    why: str = ""
    invented: set[str] = field(default_factory=set)

    @property
    def done(self) -> bool:
        return self.refuted or bool(self.why) or self.bound < BOUND

    def give_up(self, error: GradcheckError) -> None:
        self.why = error.message

    def hear(self, scene: _Scene, name: str, claim: Claim) -> None:
        try:
            gap = scene.gap(name, claim.expr)
        except ShapeMismatch:
            self.refuted = True
            return
        except GradcheckError as error:
            self.give_up(error)
            return
        self.points += 1
        self.invented |= scene.point.invented
        self.degree = max(self.degree, gap.degree.top)
        self.bound *= min(1.0, gap.degree.top / scene.point.prime)
        self.refuted = bool(gap.value != 0)

    def proof(self) -> Proof:
        invented = tuple(sorted(self.invented))
        if self.why:
            return Proof("unsupported", why=self.why)
        if self.refuted and invented:
            why = f"it differs where {', '.join(invented)} may take any value"
            return Proof("unsupported", self.points, self.degree, invented=invented, why=why)
        if self.refuted:
            return Proof("refuted", self.points, self.degree)
        if self.bound >= BOUND:
            return Proof("unsupported", self.points, self.degree, self.bound, why=f"its degree is {self.degree:,}")
        return Proof("proved", self.points, self.degree, self.bound, invented)


class _Scene:
    """The case at one random point."""

    def __init__(self, problem: Problem, number: int, seed: int) -> None:
        self.problem, self.case = problem, problem.case
        generator = np.random.default_rng([abs(seed), number, 0x6578616374])
        self.generator = generator
        self.point = Point(modular.PRIMES[number % len(modular.PRIMES)], int(generator.integers(1 << 62)))
        self.leaves: dict[str, Any] = {}
        for name, array in problem.inputs.items():
            self.leaves[name] = self._random(array.shape)
        for name, array in problem.constants.items():
            self.leaves[name] = self._constant(self.case.constants.get(name), array)
        self.seeds = [
            {root: self._seed(step.roots[root], given) for root, given in seeds.items()}
            for step, seeds in zip(self.case.steps, problem.seeds, strict=True)
        ]
        self.names = self._forward(None)
        self._derived: Mapping[str, Expr] | None = None
        self._gradients: dict[str, Residue] = {}

    def gap(self, name: str, formula: Expr) -> Residue:
        """`<formula, V> - D` along a random direction V of the tensor: zero if the formula is right."""
        shape = self._tensor(self.names, name).shape
        direction = _Direction(self.point, self.generator, shape)
        derivative = self._derivative(self._forward((name, direction)))
        claimed = lift(self.point, self._evaluate(formula))
        if claimed.shape != shape:
            raise ShapeMismatch(f"the formula has shape {claimed.shape}, its tensor {shape}")
        return residue_ops.plus(direction.along(claimed), derivative, -1)

    def _evaluate(self, formula: Expr) -> Any:
        wanted = set(gradient_names(formula))
        names = dict(self.names)
        for let, claim in self.case.let.items():
            wanted |= set(gradient_names(claim.expr))
            names[let] = evaluate(claim.expr, names, gradients=self._gradients_of(wanted))
        return evaluate(formula, names, gradients=self._gradients_of(wanted))

    def _gradients_of(self, names: set[str]) -> Mapping[str, Residue]:
        """`grad(p)`, by the core's rules on residues, each proved along a random direction before it is used."""
        for name in sorted(names - set(self._gradients)):
            if self._derived is None:
                self._derived = derive(self.problem, expand=False)
            self._gradients[name] = self._gradient(name)
        return self._gradients

    def _gradient(self, name: str) -> Residue:
        assert self._derived is not None
        if name not in self._derived or len({tuple(seeds) for seeds in self.seeds}) != 1:
            raise Unsupported(f"the gradient of {name} is not derived")
        formula = self._derived[name]
        incoming = [seeds[name] for seeds in self.seeds if name in seeds]
        known = dict(self._gradients_of(set(gradient_names(formula)) - {name}))
        if incoming:
            known[name] = reduce(residue_ops.plus, incoming)
        value = lift(self.point, evaluate(formula, self.names, gradients=known))
        direction = _Direction(self.point, self.generator, value.shape)
        truth = self._derivative(self._forward((name, direction)))
        if residue_ops.plus(direction.along(value), truth, -1).value != 0:
            raise Unsupported(f"the core's own gradient of {name} is not exact here")
        return value

    def _forward(self, moved: tuple[str, _Direction] | None) -> dict[str, Any]:
        """All values; with `moved`, the derivative along that direction of one tensor."""
        names: dict[str, Any] = {**self.problem.sizes, **self.leaves}
        if moved is not None and moved[0] in names:
            names[moved[0]] = moved[1].moving(names[moved[0]])
        for name, claim in self.case.graph.items():
            value = evaluate(claim.expr, names)
            if moved is not None and moved[0] == name:
                value = moved[1].moving(value)
            names[name] = value
        return names

    def _derivative(self, names: Mapping[str, Any]) -> Residue:
        total = lift(self.point, 0)
        for seeds in self.seeds:
            for root, seed in seeds.items():
                value = lift(self.point, names[root])
                slope = value.lazy_tangent
                if slope is None:
                    continue
                moving = Residue(self.point, slope, None, value.degree.derived())
                total = total + TABLE["sum"](moving * seed)
        return total

    def _tensor(self, names: Mapping[str, Any], name: str) -> Any:
        if name not in names or not isinstance(names[name], Residue):
            raise Unsupported(f"{name} is one of several tensors")
        return names[name]

    def _random(self, shape: tuple[int, ...]) -> Residue:
        return Residue(self.point, self.point.random(self.generator, shape))

    def _constant(self, value: Value | None, array: np.ndarray) -> Any:
        if array.dtype.kind in "biu":
            return array
        return self._random(array.shape) if value is None or _is_free(value) else lift(self.point, array)

    def _seed(self, value: Value | None, given: np.ndarray | None) -> Residue:
        if given is None:
            return lift(self.point, 1)
        return self._random(given.shape) if value is None or _is_free(value) else lift(self.point, given)


class _Direction:
    """A random direction of one tensor: the outer product of a random vector for each dimension."""

    def __init__(self, point: Point, generator: np.random.Generator, shape: tuple[int, ...]) -> None:
        self.point = point
        self.vectors = [point.random(generator, (size,)) for size in shape]

    def moving(self, tensor: Residue) -> Residue:
        """The tensor, its tangent this direction."""
        if len(self.vectors) == 2:
            column, row = self.vectors[0][:, None], self.vectors[1][None, :]
            prime = self.point.prime
            tangent: Any = Chain((Matrix(column, prime), Matrix(row, prime)))
        else:
            tangent = np.ones((), dtype=np.int64)
            for vector in self.vectors:
                tangent = tangent[..., None] * vector % self.point.prime
        return Residue(self.point, tensor.lazy_value, tangent, tensor.degree)

    def along(self, gradient: Residue) -> Residue:
        """The inner product with a tensor of this shape; a number."""
        total: Any = gradient
        if gradient.ndim == 2:
            total = residue_ops.chained(gradient, self.vectors[0][None, :], self.vectors[1][:, None])
        else:
            for vector in reversed(self.vectors):
                total = TABLE["sum"](total * Residue(self.point, vector), -1)
        return TABLE["reshape"](total, ()) * Residue(
            self.point, np.ones((), dtype=np.int64), None, Degree(gradient.ndim)
        )


def _is_free(value: Value) -> bool:
    return isinstance(value.expr, Call) and value.expr.op in _FREE


def _unfit(case: Case) -> str:
    """Why the oracle cannot speak of this case at all, or nothing."""
    if not case.dtype.startswith(("float", "bfloat")):
        return f"{case.dtype} is no field of real numbers"
    if any(step.action != "backward" or step.raises for step in case.steps):
        return "its steps are more than backward passes"
    for name, value in case.inputs.items():
        if value.expr is not None and not _is_free(value) and free_names(value.expr):
            return f"the input {name} is made of others"
    return ""


__all__ = ["BOUND", "Degree", "Proof", "prove"]
