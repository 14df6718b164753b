"""Scope: the names that formulas and checks may use after one step of a case, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.engines.base import State
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem


class Scope(dict[str, Any]):
    """By name the plain array, size or tuple of arrays that it stands for: sizes, constants, values of the graph after
    a step, and the intermediate steps (`let`) of a derivation. `grad(p)` is in `gradients`, zeros where none arrived.

    A step of a derivation that cannot be computed raises its GradcheckError when something asks for it.
    """

    def __init__(self, problem: Problem, state: State, host: Host = NUMPY, *, waits: bool = False) -> None:
        """One that `waits` computes a step when something asks for it, and so holds not all of them to begin with."""
        super().__init__(problem.sizes)
        self._problem, self.host = problem, host
        self.state = state
        self.update(problem.constants)
        self.update(_group_outputs(state.values))
        self.gradients: dict[str, np.ndarray] = {
            name: np.zeros_like(state.values[name]) if gradient is None else gradient
            for name, gradient in state.gradients.items()
            if gradient is not None or name in state.values
        }
        self._broken: dict[str, GradcheckError] = {}
        self._waiting = set(problem.case.let)
        if not waits:
            self._compute(problem.case.let)

    def _compute(self, steps: Iterable[str]) -> None:
        """Those of these that wait; each comes after those that it is made of."""
        for name in steps:
            if name in self._waiting:
                self._waiting.remove(name)
                try:
                    self[name] = self.value_of(self._problem.case.let[name].expr)
                except GradcheckError as error:
                    self._broken[name] = error

    def __missing__(self, name: str) -> Any:
        if name in self._waiting:
            case = self._problem.case
            self._compute((*case.let_steps_of(case.let[name].expr), name))
        if name in self._broken:
            raise self._broken[name]
        if name not in self:
            raise KeyError(name)
        return self[name]

    def evaluate_on(self, host: Host, expr: Expr) -> np.ndarray:
        """`array_of` an expression and the steps of the derivation that lead to it, as another host has them."""
        case = self._problem.case
        steps = {name: claim for name, claim in case.let.items() if name in case.let_steps_of(expr)}
        problem = replace(self._problem, case=replace(case, let=steps))
        return Scope(problem, self.state, host).array_of(expr)

    def value_of(self, expr: Expr, host: Host | None = None) -> Any:
        """What an expression comes to. Raises GradcheckError where it comes to nothing."""
        return evaluate(expr, self, host or self.host, self.gradients)

    def array_of(self, expr: Expr) -> np.ndarray:
        """The same as one array."""
        value = self.value_of(expr)
        if isinstance(value, tuple):
            raise GradcheckError(f"{len(value)} tensors where one is expected", hint="index them, as in m[0]")
        array = np.asarray(value)
        if array.dtype.kind not in "biufcV":
            raise GradcheckError(f"a {type(value).__name__} where a tensor is expected")
        return array


def _group_outputs(values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """`m[0]`, `m[1]` as a tuple `m`."""
    found: dict[str, Any] = {}
    parts: dict[str, list[np.ndarray]] = {}
    for name, array in values.items():
        whole, bracket, _ = name.partition("[")
        if bracket:
            parts.setdefault(whole, []).append(array)
        else:
            found[name] = array
    return found | {name: tuple(arrays) for name, arrays in parts.items()}
