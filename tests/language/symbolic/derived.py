"""What tests of derived formulas share: their text, read again and evaluated by NumPy, against the core's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.engines.base import State
from gradcheck.engines.core import Core
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.common_subexpressions import Derivation, extract_steps
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients


def in_steps(problem: Problem, *, expand: bool = False) -> Derivation:
    """The gradients with steps for what they have in common."""
    return extract_steps(
        derive_gradients(problem, expand=expand, most=None), {*problem.environment(), *problem.case.graph}
    )


def check(formulas: Mapping[str, Expr], problem: Problem, let: Mapping[str, Expr] | None = None) -> None:
    """Every gradient that the core finds has a formula, whose text evaluates to it bit for bit."""
    evaluation = Core().evaluate(problem)
    assert evaluation.error is None
    state = evaluation.states[-1]
    assert set(formulas) == {name for name, gradient in state.gradients.items() if gradient is not None}
    scope = scope_of(problem, state)
    with using_default_dtype(dtypes.real_of(problem.dtype)), np.errstate(all="ignore"):
        for name, step in (let or {}).items():
            assert name not in scope
            scope[name] = value(step, scope, state)
        for name, formula in formulas.items():
            same(name, formula, np.asarray(value(formula, scope, state)), state.gradients[name])


def value(expr: Expr, scope: Mapping[str, Any], state: State) -> Any:
    """What an expression's text evaluates to; a leaf used a thousand times has a long one."""
    return evaluate(parse(to_text(expr), max_length=10**6), scope, gradients=state.gradients)


def same(name: str, formula: Expr, got: np.ndarray, want: np.ndarray | None) -> None:
    """Bit for bit, signs of zeros included; NaNs alone are all alike."""
    assert want is not None
    assert (got.shape, got.dtype) == (want.shape, want.dtype), f"{name}: {to_text(formula)}"
    alike = [np.where(np.isnan(array), np.nan, array).tobytes() for array in (got, want)]
    assert alike[0] == alike[1], f"{name}: {to_text(formula)}\n{got}\n{want}"


def scope_of(problem: Problem, state: State) -> dict[str, Any]:
    """What names stand for; several outputs under one name are a tuple again."""
    scope = {**problem.sizes, **problem.constants, **state.values}
    for name in problem.case.graph:
        if name not in scope:
            scope[name] = tuple(part for key, part in state.values.items() if key.startswith(f"{name}["))
    return scope
