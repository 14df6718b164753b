"""Signs, and steps of the floor's kind."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.op import Op
from gradcheck.oracles.exact.algebra import apply, minus, times
from gradcheck.oracles.exact.dual import Dual, exact_rule
from gradcheck.oracles.exact.ops.comparison import above, below, piecewise


@exact_rule("sign", "sgn")
def _sign(op: Op, x: Dual) -> Dual:
    return minus(above(x, 0), below(x, 0))


@exact_rule("abs")
def _abs(op: Op, x: Dual) -> Dual:
    return times(x, _sign(op, x))


@exact_rule("floor", "ceil", "trunc", "round")
def _step(op: Op, x: Dual, decimals: Any = 0) -> Dual:
    """Some number, whose derivative is 0."""
    name = op.name if not decimals else f"{op.name} to {decimals}"
    return Dual(x.point, x.point.value(name, x.value, x.degree), None, piecewise(x))


@exact_rule("frac")
def _frac(op: Op, x: Dual) -> Dual:
    return minus(x, apply("trunc", x))
