"""The names that formulas and checks may use after a step of a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.engines.base import State
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.jacobian import derivative
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.expr.nodes import Derivative, Expr
from gradcheck.language.problem import Problem


class Scope(dict[str, Any]):
    """Arrays, sizes and tuples of arrays by name, after one step.

    Names are sizes, constants, values of the graph and the steps (`let`) of a derivation. `gradients` holds
    `grad(p)`, zeros where no gradient arrived, and derivatives such as `jacobian(y, x)`. Looking up a step that cannot
    be computed raises its GradcheckError.
    """

    def __init__(
        self,
        problem: Problem,
        state: State,
        host: Host = NUMPY,
        *,
        waits: bool = False,
        engine: DefineByRun | None = None,
    ) -> None:
        """Compute the steps at once, or with `waits` at their first use.

        `engine`, the core by default, computes Jacobians and Hessians at their first use."""
        super().__init__(problem.sizes)
        self._problem, self.host = problem, host
        self.state = state
        self.update({name: _read_only(array) for name, array in problem.constants.items()})
        self.update(_group_outputs({name: _read_only(array) for name, array in state.values.items()}))
        self.gradients = _Derivatives(problem, engine)
        self.gradients.update(
            (name, _read_only(np.zeros_like(state.values[name]) if gradient is None else gradient))
            for name, gradient in state.gradients.items()
            if gradient is not None or name in state.values
        )
        self._broken: dict[str, GradcheckError] = {}
        self._waiting = set(problem.case.let)
        if not waits:
            self._compute(problem.case.let)

    def _compute(self, steps: Iterable[str]) -> None:
        """Compute these steps if they are not computed yet."""
        for name in steps:
            if name in self._waiting:
                self._waiting.remove(name)
                try:
                    self[name] = _read_only(self.value_of(self._problem.case.let[name].expr))
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
        """Return `array_of` an expression and its steps, on another host."""
        case = self._problem.case
        steps = {name: claim for name, claim in case.let.items() if name in case.let_steps_of(expr)}
        problem = replace(self._problem, case=replace(case, let=steps))
        return Scope(problem, self.state, host).array_of(expr)

    def value_of(self, expr: Expr, host: Host | None = None) -> Any:
        """Return an expression's value. Raises GradcheckError."""
        return evaluate(expr, self, host or self.host, self.gradients)

    def array_of(self, expr: Expr) -> np.ndarray:
        """Return an expression's value as one array. Raises GradcheckError."""
        value = self.value_of(expr)
        if isinstance(value, tuple):
            raise GradcheckError(f"{len(value)} tensors where one is expected", hint="index them, as in m[0]")
        array = np.asarray(value)
        if array.dtype.kind not in "biufcV":
            raise GradcheckError(f"a {type(value).__name__} where a tensor is expected")
        return array


class _Derivatives(dict[str, np.ndarray]):
    """Gradients by tensor, and by its text every Jacobian and Hessian."""

    def __init__(self, problem: Problem, engine: DefineByRun | None) -> None:
        super().__init__()
        self._problem, self._engine = problem, engine

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or _is_derivative(name)

    def __missing__(self, name: str) -> np.ndarray:
        if not _is_derivative(name):
            raise KeyError(name)
        found = derivative(self._engine or Core(), self._problem.with_latest_inputs(), Derivative(name))
        self[name] = _read_only(found)
        return self[name]


def _is_derivative(name: object) -> bool:
    return isinstance(name, str) and name.endswith(")")


def _read_only(value: Any) -> Any:
    """Return a view that an op with running statistics leaves alone."""
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def _group_outputs(values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the values with `m[0]`, `m[1]` grouped as a tuple `m`."""
    found: dict[str, Any] = {}
    parts: dict[str, list[np.ndarray]] = {}
    for name, array in values.items():
        whole, bracket, _ = name.partition("[")
        if bracket:
            parts.setdefault(whole, []).append(array)
        else:
            found[name] = array
    return found | {name: tuple(arrays) for name, arrays in parts.items()}
