"""The error function, and `x log y`."""

from __future__ import annotations

import math

from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.exp_log_pow import exp, log
from gradcheck.oracles.exact.rules import exact_rule
from gradcheck.oracles.exact.uninterpreted import chain_rule, odd


@exact_rule("erf")
def erf(x: Dual) -> Dual:
    """Odd, with the derivative `2 / sqrt(pi) * exp(-x^2)`."""
    still = x.primal()
    return chain_rule(x, odd("erf", x), lambda: 2 / math.sqrt(math.pi) * exp(-(still * still)))


exact_rule("erfc")(lambda x: 1 - erf(x))
exact_rule("xlogy", operands=(0, 1))(lambda x, y: x * log(y))
