"""The leaves of a case at a random point: free residues, or fixed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import RANDOM_OPS, is_one_random_creator, stream
from gradcheck.language.sampling import leaves_in_file_order
from gradcheck.oracles.exact.dual_numbers import Dual, lift
from gradcheck.oracles.exact.field_point import FieldPoint, integers_between, random_integers


def leaves(problem: Problem, point: FieldPoint, generator: np.random.Generator) -> dict[str, Any]:
    """Return every input and constant, in the file's order.

    Leaves that depend on others are computed from their residues. Inputs are free variables even if the case writes
    their numbers: a proof holds for all values. Constants keep their numbers, unless they are drawn; integers and
    booleans stay arrays.
    """
    case = problem.case
    made = _Leaves(problem, point, generator)
    for name, value in leaves_in_file_order(case):
        array = problem.inputs[name] if name in case.inputs else problem.constants[name]
        made.found[name] = made.leaf(name, value, array)
    for name, array in (*problem.inputs.items(), *problem.constants.items()):  # if no file describes the problem
        if name not in made.found:
            keeps = name in problem.constants and array.dtype.kind in "biu"
            made.found[name] = array if keeps else free_variables(point, generator, array.shape)
    return made.found


def free_variables(point: FieldPoint, generator: np.random.Generator, shape: tuple[int, ...]) -> Dual:
    """Return free variables at this point."""
    if point.integer_scale:
        return Dual(point, random_integers(point.integer_scale, point.prime, generator, shape))
    return Dual(point, point.random(generator, shape))


@dataclass(slots=True)
class _Leaves:
    problem: Problem
    point: FieldPoint
    generator: np.random.Generator
    found: dict[str, Any] = field(default_factory=dict)

    def leaf(self, name: str, value: Value, array: np.ndarray) -> Any:
        if array.dtype.kind in "biu":
            return array
        if value.expr is not None and not is_one_random_creator(value):
            names = {**self.problem.sizes, **self.found}
            made = evaluate_on_residues(value, names, array.shape, self.point, self.generator)
            if made is not None:
                return made
            if not free_names(value.expr).keys().isdisjoint(self.found):
                self.point.uninterpreted.add(f"{name}, which is made of other leaves,")
                values = free_variables(self.point, self.generator, array.shape)
                if self.point.redraw:
                    again = stream(self.point.salt, name, self.point.redraw)
                    values = free_variables(self.point, again, array.shape)
                return values
        if value.expr is not None and is_one_random_creator(value) and self.point.integer_scale:
            return evaluate(value.expr, self.problem.sizes, _FreeVariables(self.point, self.generator))
        if name in self.problem.case.inputs or is_one_random_creator(value):
            return free_variables(self.point, self.generator, array.shape)
        return lift(self.point, array)


def evaluate_on_residues(
    value: Value, names: Mapping[str, Any], shape: tuple[int, ...], point: FieldPoint, generator: np.random.Generator
) -> Dual | None:
    """Return an expression's value on random residues; None if it has none."""
    if value.expr is None or (
        free_names(value.expr).keys().isdisjoint(names) and RANDOM_OPS.isdisjoint(ops_in(value.expr))
    ):
        return None
    try:
        made = evaluate(value.expr, names, _FreeVariables(point, generator))
    except GradcheckError:
        return None
    return made.primal() if isinstance(made, Dual) and made.shape == shape else None


class _FreeVariables(NumPy):
    """NumPy, with random residues for random numbers."""

    def __init__(self, point: FieldPoint, generator: np.random.Generator) -> None:
        self.point, self.generator = point, generator

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name not in RANDOM_OPS:
            return op(*args, **kwargs)
        if op.name.endswith("_like"):
            return free_variables(self.point, self.generator, tuple(args[0].shape))
        drawn = op(*args, **kwargs, generator=np.random.default_rng(0))
        if drawn.dtype.kind != "f":
            raise GradcheckError("integers drawn at random")
        if self.point.integer_scale and op.name in ("uniform", "rand"):
            low, high = args[:2] if op.name == "uniform" else (0, 1)
            values = integers_between(low, high, self.point.prime, self.generator, drawn.shape)
            return Dual(self.point, values)
        return free_variables(self.point, self.generator, drawn.shape)
