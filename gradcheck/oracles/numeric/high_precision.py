"""Forwards in 120 decimal digits, on NumPy arrays of mpmath numbers.

Differences with a step of 2**-83 are then exact to twenty digits and more, owe nothing to a gradient rule and see one
side at a time. Forwards are plain NumPy, which calls methods of objects (`x.exp()`) for its functions; what NumPy or
SciPy compute by compiled code is replaced by its definition. Johansson, "mpmath: a Python library for
arbitrary-precision floating-point arithmetic".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import Unsupported

#: Decimal digits of all numbers, and the step of differences relative to a tensor.
DIGITS, _STEP = 120, 2.0**-83
#: The most further digits, for sums of numbers of very different size.
_MOST_FURTHER = 500
#: Two steps agree to this. A slope of no more than this, beside the usual one, that falls with the step goes to 0.
_SAME = 2.0**-60
#: The most binary digits before the point that a function takes, unless any number of them costs nothing.
_MOST_BITS, _OF_ANY_SIZE = 4096, ("ln", "sqrt")
#: The highest order of a polygamma function, and the most terms that it adds before the usual ones, one for each unit
#: below 0.
_MOST_ORDER, _MOST_TERMS = 300, 1000
#: Functions of milliseconds, and the most elements that they take.
_SLOW, _MOST_SLOW = ("besseli", "erfinv", "psi"), 16


@cache
def _context() -> Any:
    from mpmath.ctx_mp import MPContext

    context = MPContext()
    context.dps = DIGITS
    return context


@contextmanager
def further_digits(number: float) -> Iterator[None]:
    """Compute with more digits. Raises Unsupported for too many."""
    if not number <= _MOST_FURTHER:
        raise Unsupported("numbers of too different size")
    with _context().workdps(DIGITS + max(0, math.ceil(number))):
        yield


class Real:
    """A number of 120 digits, with the methods that NumPy calls.

    It is no float, so that no forward rounds it unseen."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value if type(value) is not float else _context().mpf(value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __neg__(self) -> Real:
        return Real(-self.value)

    def __pos__(self) -> Real:
        return self

    def __abs__(self) -> Real:
        return Real(abs(self.value))

    def conjugate(self) -> Real:
        """Return the number itself."""
        return self


def _real(value: Any) -> Real:
    """Return a result; NaN for a complex one, as NumPy does."""
    return Real(_context().nan if isinstance(value, _context().mpc) and value.imag else value.real)


def _plain(other: Any) -> Any:
    if type(other) is Real:
        return other.value
    if isinstance(other, (bool, int, float, np.bool_, np.integer, np.floating)):
        return _context().mpf(int(other) if isinstance(other, (bool, np.bool_, np.integer)) else float(other))
    return NotImplemented


def _add_operator(name: str, is_comparison: bool = False) -> None:
    def apply(self: Real, other: Any) -> Any:
        value = _plain(other)
        if value is NotImplemented:
            return NotImplemented
        if name.endswith(("mod__", "pow__")):
            _require_in_range(self.value, value)
        try:
            made = getattr(self.value, name)(value)
        except ZeroDivisionError:
            made = _context().nan
        return made if is_comparison else _real(made)

    setattr(Real, name, apply)


for _name in ("add", "sub", "mul", "truediv", "pow", "mod"):
    _add_operator(f"__{_name}__")
    _add_operator(f"__r{_name}__")
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _add_operator(f"__{_name}__", is_comparison=True)
Real.__hash__ = None  # type: ignore[assignment]


def _require_in_range(*values: Any) -> None:
    """Raise Unsupported for numbers whose digits fill the memory."""
    if any(_MOST_BITS < _context().mag(value) < math.inf for value in values):
        raise Unsupported("a function of a huge number")


def _computed(name: str, *values: Any) -> Real:
    """Return a function's value, NaN at a pole. Raises Unsupported."""
    if name not in _OF_ANY_SIZE:
        _require_in_range(*values)
    try:
        return _real(getattr(_context(), name)(*values))
    except (ValueError, ZeroDivisionError):  # a pole
        return _real(_context().nan)
    except _context().NoConvergence as error:
        raise Unsupported(f"{name} does not converge") from error


def _function(name: str) -> Callable[[Real], Real]:
    return lambda number: _computed(name, number.value)


#: NumPy's names of functions of one number, and mpmath's.
_METHODS = {
    **{name: name for name in ("exp", "expm1", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "__floor__": "floor",
    "__ceil__": "ceil",
    "rint": "nint",
    "log": "ln",
    "log10": "log10",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
for _name, _of_mpmath in _METHODS.items():
    setattr(Real, _name, _function(_of_mpmath))


class RealArray(np.ndarray):
    """An array of such numbers, to which ops apply as to tensors."""

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return apply_op(op, args)


def _binary(name: str) -> Callable[[Real, Any], Real]:
    return lambda number, other: _computed(name, number.value, _plain(other))


for _name, _of_mpmath in (("arctan2", "atan2"), ("hypot", "hypot")):
    setattr(Real, _name, _binary(_of_mpmath))


def reals(array: np.ndarray) -> np.ndarray:
    """Return an array of the same numbers in high precision."""
    found = np.empty(array.size, dtype=object)
    found[:] = [Real(float(number)) for number in array.ravel()]
    return found.reshape(array.shape).view(RealArray)


def floats(array: np.ndarray) -> np.ndarray:
    """Return the numbers rounded to double precision."""
    return np.array([float(_plain(number)) for number in array.ravel()], dtype=np.float64).reshape(array.shape)


def apply_op(op: Op, args: Sequence[Any]) -> Any:
    """Apply an op to arrays of such numbers. Raises Unsupported if it cannot."""
    with supported(op.name):
        made = _DEFINITIONS.get(op.name, op.forward)(*args)
    return tuple(map(_array, made)) if isinstance(made, tuple) else _array(made)


@contextmanager
def supported(what: str = "it") -> Iterator[None]:
    """Raise Unsupported for what NumPy and SciPy cannot do with these numbers."""
    try:
        yield
    except (TypeError, AttributeError, ValueError, KeyError) as error:
        raise Unsupported(f"{what} has no forward in high precision") from error


def _array(made: Any) -> np.ndarray:
    found = np.asanyarray(made)
    if found.dtype.kind in "fc":
        raise Unsupported("an op gives numbers of double precision")
    if found.dtype.kind != "O":
        return np.asarray(found)
    real: np.ndarray = np.asarray(_as_real(found), dtype=object)
    return real.view(RealArray)


#: Turns floats among such numbers into them: those of `where(x > 3, 1.0, x)`.
_as_real = np.frompyfunc(lambda one: one if type(one) is Real else Real(float(one)), 1, 1)


def extrapolated_side(difference: Callable[[float], Any], size: float) -> float:
    """Return the limit of a difference quotient at 0; NaN if there is none.

    `size` is the distance over which the function changes, negative on the left."""
    step = _STEP * size
    ahead, middle, near = (difference(t) for t in (2 * step, step, step / 2))
    first, second = 2 * middle - ahead, 2 * near - middle  # without the term that is linear in the step
    if abs(first - second) <= _SAME * abs(second):
        return float(second.value)
    is_falling = abs(second) <= abs(first) / 2 and abs(first) <= _SAME * abs(difference(size))
    return 0.0 if is_falling else np.nan


# Definitions ------------------------------------------------------------------------------------------


def _each(name: str, *first: Any) -> Callable[..., Any]:
    """Return a function of arrays that refuses many elements if it is slow."""
    apply = np.frompyfunc(lambda number: _computed(name, *first, number.value), 1, 1)

    def checked(x: Any) -> Any:
        if name in _SLOW and np.size(x) > _MOST_SLOW:
            raise Unsupported(f"{name} of many numbers in high precision")
        return apply(x)

    return checked


def _log_sum_exp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    axes = tuple(dim) if isinstance(dim, (tuple, list)) else dim
    return np.log(np.sum(np.exp(x), axis=axes, keepdims=keepdim))


def _log_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    return x - _log_sum_exp(x, dim, True) if x.ndim else x * 0


def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    scaled = x * beta
    return np.where(scaled > threshold, x, np.log1p(np.exp(scaled)) / beta)


def _polygamma(order: Any, x: Any) -> Any:
    if order > _MOST_ORDER or (order and any(number.value < -_MOST_TERMS for number in np.ravel(x))):
        raise Unsupported("polygamma of so high an order, or of numbers so far below 0, in high precision")
    return _each("psi", int(order))(x)


def _log_gamma(x: Any) -> Any:
    if np.size(x) > _MOST_SLOW:
        raise Unsupported("loggamma of many numbers in high precision")
    return np.frompyfunc(lambda number: Real(_context().loggamma(number.value).real), 1, 1)(x)


def _truncated(x: Any) -> Any:
    return np.where(x < 0, np.ceil(x), np.floor(x))


def _normal_cdf(x: Any) -> Any:
    return _each("erfc")(-x / _each("sqrt")(Real(2.0))) / 2


def _divide(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode is not None:
        raise Unsupported(f"div with rounding_mode={rounding_mode!r}")
    return x / y


#: Ops whose forwards are compiled code, or keep within the range of floats.
_DEFINITIONS: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "logsigmoid": lambda x: -np.log1p(np.exp(-x)),
    "softplus": _softplus,
    "logaddexp": lambda x, y: np.log(np.exp(x) + np.exp(y)),
    "logsumexp": _log_sum_exp,
    "log_softmax": _log_softmax,
    "softmax": lambda x, dim, dtype=None: np.exp(_log_softmax(x, dim)),
    "div": _divide,
    "exp2": lambda x: 2**x,
    "log2": lambda x: np.log(x) / np.log(2 + 0 * x),
    "elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)),
    "special.entr": lambda x: np.where(x > 0, -x * np.log(x), np.where(x == 0, 0 * x, -np.inf)),
    "i0": _each("besseli", 0),
    "special.i1": _each("besseli", 1),
    "pow": lambda x, y: x**y,
    "xlogy": lambda x, y: np.where(x == 0, 0 * y, x * np.log(np.where(x == 0, 1 + 0 * y, y))),
    "erf": _each("erf"),
    "erfc": _each("erfc"),
    "erfinv": _each("erfinv"),
    "lgamma": _log_gamma,
    "logical_not": lambda x: np.logical_not(x).astype(bool),
    "logical_and": lambda x, y: np.logical_and(x, y).astype(bool),
    "logical_or": lambda x, y: np.logical_or(x, y).astype(bool),
    "trunc": _truncated,
    "frac": lambda x: x - _truncated(x),
    "fmod": lambda x, y: x - y * _truncated(x / y),
    "digamma": partial(_polygamma, 0),
    "polygamma": _polygamma,
    "special.ndtr": _normal_cdf,
    "special.log_ndtr": lambda x: np.log(_normal_cdf(x)),
}
