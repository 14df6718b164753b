"""Sums, differences, products, quotients and remainders, element by element."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.power import root
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("div", operands=(0, 1))
def _div(a: Dual, b: Dual, rounding: str | None = None) -> Any:
    return a / b if rounding is None else TABLE[rounding]((a / b).primal())


def _angle(name: str, x: Dual) -> Any:
    """By the very number that the forward multiplies with."""
    return x * TABLE[name].forward(np.ones(()))


exact_rule("add", operands=(0, 1))(lambda a, b, alpha: a + (b if alpha == 1 else b * alpha))
exact_rule("sub", operands=(0, 1))(lambda a, b, alpha: a - (b if alpha == 1 else b * alpha))
exact_rule("mul", operands=(0, 1))(lambda a, b: a * b)
exact_rule("reciprocal")(lambda x: x.reciprocal())
exact_rule("floor_divide", operands=(0, 1))(lambda a, b: _div(a, b, "floor"))
exact_rule("remainder", operands=(0, 1))(lambda a, b: a - b * _div(a, b, "floor"))
exact_rule("fmod", operands=(0, 1))(lambda a, b: a - b * _div(a, b, "trunc"))
exact_rule("lerp", operands=(0, 1, 2))(lambda start, end, weight: start + weight * (end - start))
exact_rule("hypot", operands=(0, 1))(lambda a, b: root(a * a + b * b))
exact_rule("deg2rad")(partial(_angle, "deg2rad"))
exact_rule("rad2deg")(partial(_angle, "rad2deg"))
