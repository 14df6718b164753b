"""Special functions by SciPy: gamma, Bessel, normal distribution.

Derivatives: NIST Digital Library of Mathematical Functions, 5.2, 5.15, 7.10, 7.17, 10.29, 25.11.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_REAL
from gradcheck.autograd.dtypes import is_differentiable
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import Op, composite, elementwise, op, row
from gradcheck.autograd.ops.common.arguments import refuse_complex
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.scipy_functions import scipy_special
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.error_functions import erf
from gradcheck.autograd.ops.exp_log_pow import exp, log, log1p
from gradcheck.errors import ArgumentError

_real: Any = partial(row, takes="f", floating=True)

# The gamma function ----------------------------------------------------------------------------------

_POLES = "0, -1, -2, …"
#: The most terms below 0 that are added one by one.
_MOST_TERMS = 100
#: The largest number whose factorial is a float.
_LARGEST_FACTORIAL = 170
lgamma: Op = _real(
    "lgamma", "The logarithm of the size of the gamma function.", lambda input: scipy_special("gammaln", input),
    lambda g, y, x: g * digamma(x), aliases=("special.gammaln",), domain=((0.2, 5.0),), kinks=_POLES,
    latex=r"\ln\Gamma", samples="{}(tensor([-0.5, -1.5, 3.0]))",
)  # fmt: skip
digamma: Op = _real(
    "digamma", "The derivative of `lgamma`.", lambda input: scipy_special("psi", input),
    lambda g, y, x: _polygamma_rule(g, y, 0, x), aliases=("special.digamma", "special.psi"), domain=((0.2, 5.0),),
    kinks=_POLES, latex=r"\psi",
)  # fmt: skip


def _polygamma_rule(g: Any, y: Any, n: int, x: Any) -> Any:
    return g * polygamma(n + 1, x)


@op(
    (None, _polygamma_rule),
    aliases=("special.polygamma",),
    method=False,
    kinks=_POLES,
    samples="{}(1, uniform(0.2, 3, [3])); {}(0, uniform(0.2, 3, [2])); {}(2, uniform(0.2, 3, [2, 2]))",
)
def polygamma(n: int, input: Any) -> Any:
    """The derivative of `digamma` of order `n`."""
    refuse_complex("polygamma", input.dtype)
    if n < 0:
        raise ArgumentError(f"polygamma takes an order of at least 0, not {n}")
    x = input if is_differentiable(input.dtype) else input.astype(default_dtype())
    if n == 0:
        return scipy_special("psi", x)
    factorial = math.factorial(n) if n <= _LARGEST_FACTORIAL else math.inf
    return np.asarray((-1.0) ** (n + 1) * factorial * _hurwitz_zeta(float(n + 1), x), x.dtype)


def _hurwitz_zeta(s: Any, q: Any) -> Any:
    """Return the sum of `(q + k) ** -s` over k from 0, also far below 0.

    SciPy adds a term for each unit below 9, and no signal ends that. For an integer `s`, the terms below 0 are those of
    a sum above it."""
    is_far = np.less(q, -_MOST_TERMS) & np.isfinite(q)
    near = scipy_special("zeta", s, np.where(is_far, 1, q))
    if not np.any(is_far):
        return near
    far = np.where(is_far, q, -0.5)
    above = far - np.floor(far)
    below = scipy_special("zeta", s, 1 - above) - scipy_special("zeta", s, 1 - far)
    sign = np.where(s % 2 == 0, 1, np.where(s % 2 == 1, -1, np.nan))
    return np.where(is_far, scipy_special("zeta", s, above) + sign * below, near)


@composite(
    aliases=("special.multigammaln",),
    samples="{}(uniform(3, 5, [2, 2]), 1); {}(uniform(3, 5, [3]), 3)",
    elements=lambda input, p: max(input.size, 1) * p,
)
def mvlgamma(input: Any, p: int) -> Any:
    """The logarithm of the gamma function of `p` by `p` matrices."""
    if require_integer(p, "p") < 1:
        raise ArgumentError(f"mvlgamma takes a p of at least 1, not {p}")
    x = input if is_differentiable(input.dtype) else ops.to(input, default_dtype())
    shifted = ops.unsqueeze(x, -1) - ops.to(ops.arange(p) / 2, x.dtype)
    return ops.sum(lgamma(shifted), -1) + p * (p - 1) / 4 * math.log(math.pi)


def _gamma_density(g: Any, y: Any, a: Any, x: Any) -> Any:
    """Multiply by the density of the gamma distribution of shape `a`."""
    return g * exp((a - 1) * log(x) - x - lgamma(a))


#: The shape is detached: torch has no gradient by it.
_SHARES = (
    "{}(detach(uniform(0.5, 3, [4])), uniform(0.2, 4, [4])); {}(detach(uniform(1, 3, [])), uniform(0.2, 4, [2, 3]))"
)
igamma = _real(
    "igamma", "The share of the gamma function of `input` that the integral up to `other` has; by `input` it has no "
    "derivative here, nor in torch.", lambda input, other: scipy_special("gammainc", input, other),
    (None, _gamma_density), aliases=("special.gammainc",), domain=(), samples=_SHARES, kinks="other = 0",
)  # fmt: skip
igammac = _real(
    "igammac", "What `igamma` leaves to 1.", lambda input, other: scipy_special("gammaincc", input, other),
    (None, lambda g, y, a, x: -_gamma_density(g, y, a, x)), aliases=("special.gammaincc",), domain=(),
    samples=_SHARES, kinks="other = 0",
)  # fmt: skip


def _of_zeta(g: Any, y: Any, x: Any, q: Any) -> Any:
    return g * (-x * zeta(x + 1, q))


@elementwise(
    (None, _of_zeta), name="special.zeta", floating=True, takes="f",
    method=False, domain=(), samples="{}(3, uniform(0.5, 3, [2])); {}(1.5, uniform(0.5, 3, [2, 3]))",
)  # fmt: skip
def zeta(input: Any, other: Any) -> Any:
    """The sum of `(other + k) ** -input` over k from 0.

    It has no derivative by `input` here, nor in torch.
    """
    return _hurwitz_zeta(input, other)


# Bessel functions ------------------------------------------------------------------------------------


def _divide_or_half(y: Any, x: Any) -> Any:
    """Return `y / x`, and 1 / 2 at 0."""
    flat = x == 0
    return where(flat, 0.5, y / where(flat, 1, x))


i0: Op = _real(
    "i0", "The modified Bessel function of order 0.", lambda input: scipy_special("i0", input),
    lambda g, y, x: g * i1(x), aliases=("special.i0",), latex="I_0",
)  # fmt: skip
i0e: Op = _real(
    "special.i0e", "`exp(-abs(input))` times `i0`.", lambda input: scipy_special("i0e", input),
    lambda g, y, x: g * (i1e(x) - ops.sign(x) * y), method=False,
)  # fmt: skip
i1: Op = _real(
    "special.i1", "The modified Bessel function of order 1.", lambda input: scipy_special("i1", input),
    lambda g, y, x: g * (i0(x) - _divide_or_half(y, x)), method=False,
    dtypes={"input": FULL_REAL}, latex="I_1", samples="{}(tensor([0.0, 1.0]))",
)  # fmt: skip
i1e: Op = _real(
    "special.i1e", "`exp(-abs(input))` times `special.i1`.", lambda input: scipy_special("i1e", input),
    lambda g, y, x: g * (i0e(x) - ops.sign(x) * y - _divide_or_half(y, x)), method=False,
    dtypes={"input": FULL_REAL}, samples="{}(tensor([0.0, 1.0]))",
)  # fmt: skip

# The normal distribution -----------------------------------------------------------------------------

_ROOT = math.sqrt(2 * math.pi)
ndtr = _real(
    "special.ndtr", "The area under the standard normal density up to `input`; far below 0, as torch's, of few digits.",
    lambda input: 0.5 * (1 + erf(input * math.sqrt(0.5))), lambda g, y, x: g * (exp(x * x * -0.5) / _ROOT),
    method=False,
)  # fmt: skip
ndtri = _real(
    "special.ndtri", "The number up to which the area under the standard normal density is `input`.",
    lambda input: scipy_special("ndtri", input), lambda g, y, x: g * (_ROOT * exp(y * y / 2)), method=False,
    domain=((0.05, 0.95),), dtypes={"input": FULL_REAL},
)  # fmt: skip
erfcx = _real(
    "special.erfcx", "`exp(input**2)` times `erfc`.", lambda input: scipy_special("erfcx", input),
    lambda g, y, x: g * (2 * x * y - 2 / math.sqrt(math.pi)), method=False, dtypes={"input": FULL_REAL},
)  # fmt: skip
log_ndtr = _real(
    "special.log_ndtr", "The logarithm of `special.ndtr`, precise far below 0.",
    lambda input: scipy_special("log_ndtr", input), method=False,
    rules=lambda g, y, x: g * (math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))), dtypes={"input": FULL_REAL},
)  # fmt: skip
erfinv = _real(
    "erfinv", "The number whose `erf` is `input`.", lambda input: scipy_special("erfinv", input),
    lambda g, y, x: g * (math.sqrt(math.pi) / 2 * exp(y * y)), aliases=("special.erfinv",), domain=((-0.9, 0.9),),
)  # fmt: skip


# Entropies -------------------------------------------------------------------------------------------


@elementwise(
    lambda g, y, x: g * (-1 - log(x)), name="special.entr", floating=True, takes="f", method=False,
    domain=((0.1, 5.0),), kinks="0", samples="{}(tensor([0.0, 1.0, -2.0, nan]))",
)  # fmt: skip
def entr(input: Any) -> Any:
    """`-input * log(input)`, 0 at 0, and -inf below."""
    inside = -input * np.log(np.where(input > 0, input, 1))
    return np.where(input < 0, -np.inf, np.where(np.isnan(input), input, inside))


def _xlog1py_input(g: Any, y: Any, x: Any, z: Any) -> Any:
    flat = (x == 0) & (z <= -1)
    return where(flat, 0, g * log1p(where(flat, 0, z)))


@elementwise(
    (_xlog1py_input, lambda g, y, x, z: g * (x / (z + 1))), name="special.xlog1py", floating=True, takes="f",
    method=False, domain=((-3.0, 3.0), (-0.5, 3.0)), kinks="other = -1",
    samples="{}(tensor([0.0, 0.0, 2.0]), tensor([-1.0, 1.0, 3.0])); {}(2, uniform(0.1, 2, [3]))",
)  # fmt: skip
def xlog1py(input: Any, other: Any) -> Any:
    """`input * log1p(other)`, and 0 where `input` is 0 (NaN where `other` is)."""
    product = input * np.log1p(np.where(input == 0, 0, other))
    return np.where(np.isnan(other), other, product)
