"""Sums, differences, products, quotients and signs, element by element."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("div", operands=(0, 1))
def divide(a: Dual, b: Dual, rounding: str | None = None) -> Any:
    """`a / b`, as it is, or rounded by the op of this name."""
    return a / b if rounding is None else TABLE[rounding]((a / b).primal())


exact_rule("add", operands=(0, 1))(lambda a, b, alpha: a + (b if alpha == 1 else b * alpha))
exact_rule("sub", operands=(0, 1))(lambda a, b, alpha: a - (b if alpha == 1 else b * alpha))
exact_rule("mul", operands=(0, 1))(lambda a, b: a * b)
exact_rule("reciprocal")(lambda x: x.reciprocal())
exact_rule("lerp", operands=(0, 1, 2))(lambda start, end, weight: start + weight * (end - start))
exact_rule("hypot", operands=(0, 1))(lambda a, b: (a * a + b * b).sqrt())
exact_rule("sign", "sgn")(lambda x: (x > 0) - (x < 0))
exact_rule("abs")(lambda x: x * x.sign())
