"""Softmax and its kin: fractions of exponentials, and the logarithm of their sum."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.ops.common.dims import axes
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.exp_log_pow import exp, has_exponential, log
from gradcheck.oracles.exact.ops.reductions import summed, without
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("logsumexp")
def _logsumexp(x: Dual, dim: Any, keepdim: bool = False) -> Dual:
    """Its difference to x has a known exponential: the softmax."""
    e = exp(x)
    total = summed(e, dim, True)
    found = log(total)
    has_exponential(x.primal() - found.primal(), e.primal() / total.primal())
    return found if keepdim else without(found, axes(dim, x.ndim))


@exact_rule("softmax")
def _softmax(x: Dual, dim: int, dtype: Any = None) -> Dual:
    e = exp(x)
    return e / summed(e, dim, True)


exact_rule("log_softmax")(lambda x, dim, dtype: x - _logsumexp(x, dim if x.ndim else (), True))
