"""Find elements that leave the range of their dtype during evaluation.

`exp(x) / (1 + exp(x))` is mathematically right, but a quotient of infinities at x = 800. Such an element decides
nothing about a formula. An expression is evaluated with NaN for every result that overflows or underflows, so that
everything computed from it is NaN too. A pole (`1 / 0`, `log(0)`) is not an overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import Op
from gradcheck.checks.scope import Scope
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem

#: Ops with poles at a zero among their arguments, and elsewhere.
_POLES_AT_ZERO = frozenset(("div", "pow", "float_power", "reciprocal", "rsqrt"))
_POLES = frozenset(
    (*("log", "log2", "log10", "log1p", "logit", "xlogy", "atanh", "tan", "digamma", "lgamma", "logdet", "slogdet"),)
)
#: Ops that are 0 only by underflow if no argument is 0.
_NEVER_ZERO = _POLES_AT_ZERO | frozenset(("exp", "exp2", "sigmoid", "mul", "square"))
#: Ops that grow with their arguments: a 0 that vanishes for larger arguments is an underflow.
_SIZES = frozenset(
    (
        *("norm", "linalg.norm", "linalg.vector_norm", "linalg.matrix_norm"),
        *("std", "var", "dist", "cdist", "pairwise_distance"),
    )
)


class OverflowHost:
    """Ops on arrays, with NaN for results out of their dtype's range."""

    def __init__(self, host: Host = NUMPY) -> None:
        self._host = host
        self.has_marked = False  # whether any result was out of range

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the op's result, marked."""
        result = self._host.call(op, args, kwargs)
        left = _out_of_range(op.name, args, result) if isinstance(result, (np.ndarray, np.generic)) else None
        if op.name in _SIZES and left is not None:
            enlarged = self._host.call(op, _enlarged(args), kwargs)
            left = left | ((wide(np.asarray(result)) == 0) & (wide(np.asarray(enlarged)) != 0))
        if left is None or not left.any():
            return result
        self.has_marked = True
        return np.where(left, np.asarray(np.nan, result.dtype), result)

    def dtype(self, name: str) -> Any:
        return self._host.dtype(name)


def overflowed_elements(scope: Scope, expr: Expr) -> np.ndarray | None:
    """Return which elements are NaN by overflow; None without overflow."""
    host = OverflowHost(scope.host)
    try:
        with quiet():
            found: np.ndarray = np.isnan(wide(scope.evaluate_on(host, expr)))
    except (GradcheckError, ValueError):
        return None
    return found if host.has_marked else None


def leaves_range(problem: Problem) -> bool:
    """Return whether all roots overflow, so that nothing has the derivative."""
    host, problem = OverflowHost(), problem.with_latest_inputs()
    plain: dict[str, Any] = {**problem.sizes, **problem.inputs, **problem.constants}
    marked = dict(plain)
    try:
        with quiet():
            for name, claim in problem.case.graph.items():
                plain[name], marked[name] = evaluate(claim.expr, plain), evaluate(claim.expr, marked, host)
    except (GradcheckError, ValueError):
        return False
    roots = {root for step in problem.case.steps for root in step.roots}
    return host.has_marked and all(_is_lost(plain.get(root), marked.get(root)) for root in roots)


def _is_lost(value: Any, marked: Any) -> bool:
    if not isinstance(value, (np.ndarray, np.generic)):
        return False
    is_number = np.isfinite(wide(np.asarray(value))) & (wide(np.asarray(value)) != 0)
    return bool(np.all(np.isnan(wide(np.asarray(marked))) & ~is_number))


def _enlarged(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments scaled so that the largest number is about 1."""
    largest = max((largest_finite(arg) for arg in args if isinstance(arg, np.ndarray)), default=0.0)
    factor = 2.0 ** float(min(-np.floor(np.log2(largest)), 1000.0)) if largest > 0 else 1.0
    return tuple(wide(arg) * factor if isinstance(arg, np.ndarray) else arg for arg in args)


def _out_of_range(name: str, args: tuple[Any, ...], result: Any) -> np.ndarray | None:
    if name in _POLES or not dtypes.is_differentiable(result.dtype):
        return None
    numbers = [wide(np.asarray(a)) for a in args if isinstance(a, (np.ndarray, np.generic, int, float, complex))]
    if any(np.isinf(number).any() for number in numbers):
        return None
    made = wide(np.asarray(result))
    if name not in _NEVER_ZERO:
        return np.asarray(np.isinf(made))
    has_zero = np.any([np.broadcast_to(number == 0, made.shape) for number in numbers], axis=0)
    return np.asarray((np.isinf(made) | (made == 0)) & ~has_zero)
