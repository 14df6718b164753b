"""Signs, and steps of the floor's kind."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.comparison import piecewise
from gradcheck.oracles.exact.rules import exact_rule


def _step(name: str, x: Dual, decimals: Any = 0) -> Dual:
    """Some number, whose derivative is 0."""
    function = f"{name} to {decimals}" if decimals else name
    return Dual(x.point, x.point.value(function, x.value, x.degree), None, piecewise(x))


for _name in ("floor", "ceil", "trunc", "round"):
    exact_rule(_name)(partial(_step, _name))
exact_rule("sign", "sgn")(lambda x: (x > 0) - (x < 0))
exact_rule("abs")(lambda x: x * x.sign())
exact_rule("frac")(lambda x: x - x.trunc())
