"""`check_jacobian`: a function's own Jacobian, compared with differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcheck.checks.derivatives.entry_mistakes import (
    ALIKE,
    Entries,
    blocks,
    common_mistake,
    factors,
    orders,
    orders_of_lines,
    parts,
    some_entries,
    wrong_diagonal,
    wrong_places,
    wrong_products,
)
from gradcheck.errors import UsageError
from gradcheck.oracles.numeric.finite_differences import array_derivative
from gradcheck.reports.phrases import say
from gradcheck.reports.safe_text import count

#: The first step of differences, by size; rounding; the errors that suffice and decide; the difference of two calls.
_FIRST, _UNIT, _ENOUGH, _CLEAR, _SAME = 2.0**-3, 2.0**-50, 1e-11, 0.1, 1e-9
#: The step on each side of a kink, in first steps; the relative difference of its two slopes.
_NEAR, _KINK = 2.0**-20, 1e-2
#: The mistakes that are tried, in order.
_GUESSES = (wrong_products, orders, factors, parts, blocks, orders_of_lines, some_entries, wrong_diagonal)
#: The points beside the given one, and the most entries of a Jacobian.
_MORE_POINTS = 2
_MOST_ENTRIES = 10**8


def check_jacobian(
    function: Callable[..., Any],
    jacobian: Callable[..., Any],
    x: Any,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
    seed: int = 0,
) -> None:
    """Assert that `jacobian(x)` is the derivative of `function(x)`.

        check_jacobian(fun, jac, x=np.ones(3))

    Both take one array, as those of `scipy.optimize.least_squares` and of OpenMDAO's components do. The Jacobian has
    the shape of the result, then that of `x`, up to axes of size 1: an array, a sparse matrix or array of SciPy, or a
    `LinearOperator`, whose `matvec` and `rmatvec` are checked. A gradient `fun` and its Hessian are such a pair too.
    The derivatives are by differences with error bars, at `x` and at two points near it.

    Raises AssertionError with the entries that differ or are not decided, and UsageError for an invalid call.
    """
    if not (0 <= rtol < np.inf and 0 <= atol < np.inf):
        raise UsageError(f"rtol is {rtol!r} and atol {atol!r}", hint="they are finite numbers, and not negative")
    start = _real(x, "x")
    wrong: list[Entries] = []
    reports, is_decided = [], np.zeros((), bool)
    for number, at in enumerate(_points(start, seed)):
        value, again = _real(function(at.copy()), "function(x)"), _real(function(at.copy()), "function(x)")
        if not value.size * at.size:
            raise UsageError("there is nothing to compare: x or function(x) has no element")
        if not np.isfinite(value).all():
            continue
        if value.shape != again.shape or not np.max(np.abs(value - again)) <= _SAME * np.max(np.abs(value)):
            raise AssertionError(f"function(x) varies from call to call, at x = {at.tolist()!s:.200}")
        if value.size * at.size > _MOST_ENTRIES:
            raise UsageError(f"a Jacobian of {value.size:,} times {at.size:,} elements is too large to be checked")
        want, bars = _derivative(function, at, value.shape, at_kinks=number == 0)
        scale = max(np.max(np.abs(want)), np.max(np.abs(value)) / (np.max(np.abs(at)) or 1.0))
        is_decided = is_decided | (np.isfinite(bars) & np.any(bars <= _CLEAR * scale))
        for name, got in _claimed(jacobian(at.copy()), value.shape, at.shape):
            moved = range(value.ndim), range(-value.ndim, 0) if name == "rmatvec" else range(value.ndim)
            right, bar = np.moveaxis(want, *moved), np.moveaxis(bars, *moved)
            if got.shape == right.shape and np.all(np.abs(got - right) <= rtol * np.abs(right) + atol + bar):
                continue
            rank = value.ndim if name != "rmatvec" else at.ndim
            wrong.append(Entries(got, right, rank, name, max(ALIKE, 10 * rtol)))
            reports.append(_report(wrong[-1], at, number))
    if wrong:
        first = [one for one in wrong if one.term == wrong[0].term and one.is_wrong]
        known = common_mistake(first, _GUESSES) if first else None
        cause = f"\n  cause: {say(known[1])}" if known else ""
        raise AssertionError(f"{reports[0]}{cause}") from None
    if not is_decided.all():
        raise AssertionError("nothing is finite near x, or some entries have no derivative to compare with")


def _report(found: Entries, at: np.ndarray, number: int) -> str:
    """Return the entry that differs most, by row and column, and the point."""
    where = "at x" if number == 0 else f"at other numbers, x = {np.array2string(at.ravel()[:6], precision=4)}"
    if found.got.shape != found.want.shape:
        return f"{found.term} has shape {list(found.got.shape)}, expected {list(found.want.shape)}, {where}"
    gap = np.nan_to_num(np.abs(found.got - found.want), nan=np.inf)
    index = np.unravel_index(int(np.argmax(gap)), gap.shape)
    differ = int(np.count_nonzero(gap > found.within * np.abs(found.want)))
    places = wrong_places(found)[1]
    listed = f", {say(places)}" if differ > 1 and any(places[kind] for kind in ("rows", "columns", "entries")) else ""
    return (
        f"{found.term} is wrong {where}: {max(differ, 1)} of {count(gap.size, 'entry', 'entries')} differ{listed}, "
        f"worst at {list(map(int, index))}: {found.got[index]:.9g}, by differences {found.want[index]:.9g}"
    )


def _real(given: Any, name: str) -> np.ndarray:
    array = np.asarray(given)
    if np.iscomplexobj(array) and np.any(array.imag != 0):
        raise UsageError(f"{name} is complex", hint="give its real and imaginary parts as two functions")
    return np.asarray(array.real, dtype=np.float64)


def _points(start: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    yield start
    for _ in range(_MORE_POINTS):
        yield start * generator.uniform(0.8, 1.2, start.shape) + 0.01 * generator.standard_normal(start.shape)


def _derivative(
    function: Callable[..., Any], at: np.ndarray, shape: tuple[int, ...], at_kinks: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative by differences, and its error bars.

    With `at_kinks`, the bars of a kink at this very point cover all between the derivatives of its two sides."""
    found = np.zeros((int(np.prod(shape)), at.size))
    bars = np.zeros_like(found)
    for column in range(at.size):
        unit = (np.arange(at.size) == column).astype(np.float64)
        first = 2.0 ** np.floor(np.log2(_FIRST * (abs(float(at.ravel()[column])) or 1.0)))

        def along(step: float, unit: np.ndarray = unit) -> np.ndarray:
            return _real(function(at + step * unit.reshape(at.shape)), "function(x)").ravel()

        found[:, column], bars[:, column] = array_derivative(along, first, _UNIT, _ENOUGH)
        if at_kinks:
            here, step = along(0.0), first * _NEAR
            one, other = (along(step) - here) / step, (here - along(-step)) / step
            is_kink = np.abs(one - other) > _KINK * np.maximum(np.abs(one), np.abs(other))
            found[is_kink, column] = (one + other)[is_kink] / 2
            bars[is_kink, column] = np.abs(one - other)[is_kink] / 2
    bars[~np.isfinite(found)] = np.inf
    found[np.isinf(bars)] = 0.0
    return found.reshape(shape + at.shape), bars.reshape(shape + at.shape)


def _claimed(given: Any, rows: tuple[int, ...], columns: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what a Jacobian claims as arrays: of an operator, both products."""
    if hasattr(given, "rmatvec"):
        for name, taken, made in (("matvec", columns, rows), ("rmatvec", rows, columns)):
            found = [_real(getattr(given, name)(unit), name).ravel() for unit in np.eye(int(np.prod(taken)))]
            yield name, np.stack(found, axis=1).reshape(made + taken)
        return
    dense = given.toarray() if hasattr(given, "toarray") else given
    array, shape = _real(dense, "jacobian(x)"), rows + columns
    is_alike = [size for size in array.shape if size != 1] == [size for size in shape if size != 1]
    yield "jacobian(x)", array.reshape(shape) if is_alike else array  # such as (4, 4) for columns, (1, n) for a number
