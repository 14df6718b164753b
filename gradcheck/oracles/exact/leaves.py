"""The leaves of a scene: random residues for what is free, the numbers themselves for what is fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.mentions import free_names, ops_in
from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.problem import Problem
from gradcheck.language.random import RANDOM
from gradcheck.oracles.exact.dual import Residue, lift
from gradcheck.oracles.exact.point import Point

#: Creators whose every element is a free variable.
_FREE = frozenset({"randn", "rand", "uniform", "normal"})


class _Drawing(NumPy):
    """NumPy, with random residues for random numbers."""

    def __init__(self, point: Point, generator: np.random.Generator) -> None:
        self.point, self.generator = point, generator

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name not in RANDOM:
            return op(*args, **kwargs)
        if op.name.endswith("_like"):
            return random(self.point, self.generator, tuple(args[0].shape))
        drawn = op(*args, **kwargs, generator=np.random.default_rng(0))
        if drawn.dtype.kind != "f":
            raise GradcheckError("integers drawn at random")
        return random(self.point, self.generator, drawn.shape)


def random(point: Point, generator: np.random.Generator, shape: tuple[int, ...]) -> Residue:
    return Residue(point, point.random(generator, shape))


def is_free(value: Value) -> bool:
    """Whether its elements are random, each by itself."""
    return isinstance(value.expr, Call) and value.expr.op in _FREE


def leaves(problem: Problem, point: Point, generator: np.random.Generator) -> dict[str, Any]:
    """Every input and constant, in the file's order: what is made of others is made of their residues.

    Inputs are free variables even where the case writes out their numbers: a proof is one for all values. Constants
    keep their numbers, unless they are drawn.
    """
    case = problem.case
    listed = [*case.inputs.items(), *case.constants.items()]
    found: dict[str, Any] = {}
    for name, value in sorted(listed, key=lambda item: (item[1].place.line, item[1].place.column)):
        array = problem.inputs[name] if name in case.inputs else problem.constants[name]
        found[name] = _leaf(name, value, array, problem, found, point, generator)
    for name, array in problem.inputs.items():  # of problems that no file describes
        found.setdefault(name, random(point, generator, array.shape))
    for name, array in problem.constants.items():
        if name not in found:
            found[name] = array if array.dtype.kind in "biu" else random(point, generator, array.shape)
    return found


def _leaf(name: str, value: Value, array: np.ndarray, problem: Problem, found: dict[str, Any], point: Point,
          generator: np.random.Generator) -> Any:  # fmt: skip
    if array.dtype.kind in "biu":
        return array
    if value.expr is not None and not is_free(value):
        made = _made(value.expr, array, {**problem.sizes, **found}, point, generator)
        if made is not None:
            return made
        if not free_names(value.expr).keys().isdisjoint(found):
            point.invented.add(f"{name}, which is made of other leaves,")
            return random(point, generator, array.shape)
    if name in problem.case.inputs or is_free(value):
        return random(point, generator, array.shape)
    return lift(point, array)


def _made(
    expr: Expr, array: np.ndarray, names: dict[str, Any], point: Point, generator: np.random.Generator
) -> Residue | None:
    """What an expression makes of random residues, or None where it has none, or is beyond exact arithmetic."""
    if free_names(expr).keys().isdisjoint(names) and RANDOM.isdisjoint(ops_in(expr)):
        return None
    try:
        made = evaluate(expr, names, _Drawing(point, generator))
    except GradcheckError:
        return None
    return made.still() if isinstance(made, Residue) and made.shape == array.shape else None
