"""Steps, and what is left of a number beside them."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.arithmetic import divide
from gradcheck.oracles.exact.ops.comparison_where import piecewise
from gradcheck.oracles.exact.rules import exact_rule


def _step(name: str, x: Dual, decimals: Any = 0) -> Dual:
    """Some number, whose derivative is 0."""
    function = f"{name} to {decimals}" if decimals else name
    return Dual(x.point, x.point.value(function, x.value, x.degree), None, piecewise(x))


for _name in ("floor", "ceil", "trunc", "round"):
    exact_rule(_name)(partial(_step, _name))
exact_rule("frac")(lambda x: x - x.trunc())
exact_rule("floor_divide", operands=(0, 1))(lambda a, b: divide(a, b, "floor"))
exact_rule("remainder", operands=(0, 1))(lambda a, b: a - b * divide(a, b, "floor"))
exact_rule("fmod", operands=(0, 1))(lambda a, b: a - b * divide(a, b, "trunc"))
