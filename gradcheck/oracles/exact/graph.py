"""Scene: a case at one random point, its forward values, and their derivatives along directions of some tensors."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import reduce
from typing import Any

import numpy as np

from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.case import Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact import leaves, modular, ops
from gradcheck.oracles.exact.dependencies import Needs
from gradcheck.oracles.exact.direction import Direction, number
from gradcheck.oracles.exact.dual import Residue, lift
from gradcheck.oracles.exact.ops.arithmetic import plus, summed, times
from gradcheck.oracles.exact.point import Point

assert ops  # imported for what it fills

_PART = re.compile(r"\[(\d+)\]")


class Scene:
    """The case at the random point of this number. `gradients` are the core's, where formulas spoke of them: they are
    claims like all others."""

    def __init__(self, problem: Problem, needs: Needs, number: int, seed: int, squares: bool = False) -> None:
        self.problem, self.case, self.needs = problem, problem.case, needs
        self.generator = np.random.default_rng([abs(seed), number, 0x6578616374])
        self.point = Point(modular.PRIMES[number % len(modular.PRIMES)], int(self.generator.integers(1 << 62)), squares)
        self.leaves = leaves.leaves(problem, self.point, self.generator)
        self.seeds = [
            {root: self._seed(step.roots[root], given) for root, given in seeds.items()}
            for step, seeds in zip(self.case.steps, problem.seeds, strict=True)
        ]
        self.directions: dict[str, Direction] = {}
        self.gradients: dict[str, Residue] = {}
        self._steps: dict[str, Any] = {}
        self.names: dict[str, Any] = {}
        self._bases: dict[str, list[str]] = {}

    # The forward and its derivatives --------------------------------------------------------------

    def forward(self, moved: Collection[str]) -> Residue:
        """All values, into `names`; what comes back is the derivative along all these tensors' directions."""
        parts: dict[str, list[str]] = {}
        for name in moved:
            parts.setdefault(name.partition("[")[0], []).append(name)
        names: dict[str, Any] = {**self.problem.sizes, **self.leaves}
        for name in parts:
            if name in names:
                names[name] = self._moving(name, names[name])
        for name, claim in self.case.graph.items():
            value = evaluate(claim.expr, names)
            for part in parts.get(name, ()):
                value = self._moved_part(part, value)
            names[name] = value
        if not self.names:
            self.names = {name: _still(value) for name, value in names.items()}
        return self._derivative(names)

    def _moved_part(self, name: str, value: Any) -> Any:
        """The value, one of its tensors moving: `m`, or `m[0]` of several."""
        if "[" not in name:
            return self._moving(name, value)
        place = int(_PART.findall(name)[-1])
        if not isinstance(value, (tuple, list)) or name.count("[") > 1 or place >= len(value):
            raise Unsupported(f"{name} is a part of a part")
        return tuple(self._moving(name, part) if i == place else part for i, part in enumerate(value))

    def _moving(self, name: str, value: Any) -> Residue:
        if not isinstance(value, Residue):
            raise Unsupported(f"{name} is no tensor of real numbers")
        if name not in self.directions:
            self.directions[name] = Direction(self.point, self.generator, value.shape)
        return self.directions[name].moving(value)

    def _derivative(self, names: Mapping[str, Any]) -> Residue:
        """Of what the backward passes start from, weighted with their incoming gradients."""
        total = lift(self.point, 0)
        for seeds in self.seeds:
            for root, seed in seeds.items():
                value = _tensor(names, root)
                slope = value.lazy_tangent
                if slope is not None:
                    weighted = times(Residue(self.point, slope, None, value.degree.moving()), seed)
                    total = plus(total, number(summed(weighted) if weighted.shape else weighted))
        return total

    # What is claimed ------------------------------------------------------------------------------

    def claimed(self, name: str, formula: Expr) -> Residue:
        """The formula's value. Raises ShapeMismatch where it has not its tensor's shape."""
        for needed in self.needs.gradients(formula):
            if needed not in self.gradients:
                self.gradients[needed] = self._gradient(needed)
        scope = self.names
        steps = self.needs.steps(formula)
        if steps:
            scope = {**scope, **{step: self._step(step) for step in steps}}
        value = lift(self.point, evaluate(formula, scope, gradients=self.gradients)).still()
        expected = _tensor(self.names, name).shape
        if value.shape != expected:
            raise ShapeMismatch(f"the formula has shape {value.shape}, its tensor {expected}")
        return value

    def _step(self, name: str) -> Any:
        if name not in self._steps:
            expr = self.case.let[name].expr
            scope = {**self.names, **self._steps}
            self._steps[name] = evaluate(expr, scope, gradients=self.gradients)
        return self._steps[name]

    def _gradient(self, name: str) -> Residue:
        """`grad(name)` as the core's rules have it, of the gradients that it speaks of."""
        incoming = [seeds[name] for seeds in self.seeds if name in seeds]
        known: dict[str, Any] = dict(self.gradients)
        if incoming:  # written out where the tensor is a root below others
            known[name] = reduce(plus, incoming)
        return lift(self.point, evaluate(self.needs.derived(name), self.names, gradients=known)).still()

    def _seed(self, value: Value | None, given: np.ndarray | None) -> Residue:
        if given is None:
            return lift(self.point, 1)
        if (value is None or leaves.is_free(value)) and not self.needs.speaks_of_numbers:
            return leaves.random(self.point, self.generator, given.shape)
        return lift(self.point, given)


def _tensor(names: Mapping[str, Any], name: str) -> Residue:
    base, *_ = name.partition("[")
    value = names.get(base)
    for place in _PART.findall(name):
        value = value[int(place)] if isinstance(value, tuple) and int(place) < len(value) else None
    if not isinstance(value, Residue):
        raise Unsupported(f"{name} is no tensor of real numbers")
    return value


def _still(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_still, value))
    return value.still() if isinstance(value, Residue) else value
