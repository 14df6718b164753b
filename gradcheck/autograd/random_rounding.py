"""Monte Carlo arithmetic: arrays whose operations round at random.

Ops and gradient rules are written in NumPy and in ops; given such arrays they yield results that rounding has moved.
The spread of several such results estimates the effect of rounding (La Porte and Vignes, "Error analysis in computing",
IFIP 1974; Parker, "Monte Carlo arithmetic", 1997). Each element of a result is moved by a relative amount of its own. A
sum, and a product of matrices, is moved at each of its terms, since terms that cancel leave the error. Exact results
stay: moved data, signs, comparisons, sums of small integers, and results so short that no digit can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, HALVES, is_differentiable, real_of
from gradcheck.autograd.exactness import DIGITS, EXACT, adds_exactly, is_exact
from gradcheck.autograd.modes import quiet

_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
#: By dtype the exponent of the smallest number that has all digits.
_SMALLEST = {_FLOAT64: -1022, _FLOAT32: -126, np.dtype(np.float16): -14, BFLOAT16: -126}
#: Ufuncs whose result is 0 only by underflow, where no argument is 0.
_NEVER_ZERO = frozenset(
    (np.multiply, np.true_divide, np.square, np.power, np.float_power, np.exp, np.exp2, np.reciprocal)
)
#: Functions of NumPy's that are written in ufuncs, which round by themselves.
_WRITTEN_IN_UFUNCS = frozenset((np.sum, np.mean, np.prod, np.cumsum, np.cumprod, np.angle, np.var, np.std))
#: Functions that move data, choose, or compare. All others compute, not by ufuncs: at best they are backward stable,
#: so that their result is exact for arguments that are a few roundings away.
_MOVE_DATA = frozenset(
    (
        *(np.concatenate, np.stack, np.hstack, np.vstack, np.split, np.array_split, np.where, np.select, np.choose),
        *(np.take, np.take_along_axis, np.put_along_axis, np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis),
        *(np.flip, np.roll, np.rot90, np.pad, np.tile, np.repeat, np.broadcast_to, np.broadcast_arrays, np.squeeze),
        *(np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.diagonal, np.diag, np.tril, np.triu, np.copy),
        *(np.sort, np.argsort, np.partition, np.max, np.min, np.amax, np.amin, np.argmax, np.argmin, np.clip, np.round),
        *(np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.copyto, np.real, np.imag, np.nan_to_num),
        *(np.any, np.all, np.count_nonzero, np.nonzero, np.unique, np.searchsorted, np.isclose, np.array_equal),
        *(np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj, np.may_share_memory),
    )
)
#: Functions that are backward stable for a matrix as a whole: an error of small elements and zeros may be as large as
#: a rounding of its large ones (Higham, "Accuracy and stability of numerical algorithms", 2002, ch. 9, 10, 19).
_STABLE_AS_A_WHOLE = frozenset(
    (
        *(np.linalg.inv, np.linalg.solve, np.linalg.det, np.linalg.slogdet, np.linalg.pinv, np.linalg.lstsq),
        *(np.linalg.svd, np.linalg.svdvals, np.linalg.qr, np.linalg.cholesky, np.linalg.matrix_power),
        *(np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh),
        *(np.linalg.tensorinv, np.linalg.tensorsolve, np.linalg.cond, np.linalg.matrix_rank),
    )
)


class Roundings:
    """A source of random roundings.

    `size` is the largest, in units of the distance from 1 to the next number of the dtype; true ones are at most 1/2,
    but other libraries sum in fewer digits. `coarsest` is a half precision that an op computes in more digits.
    """

    __slots__ = ("_coarsest", "_generator", "size")

    def __init__(self, generator: np.random.Generator, size: float = 1.0, coarsest: np.dtype | None = None) -> None:
        self._generator, self.size, self._coarsest = generator, size, coarsest

    def as_of(self, coarsest: np.dtype) -> Roundings:
        """Return roundings at least as large as those of a coarser dtype."""
        return Roundings(self._generator, self.size, coarsest)

    def of(self, array: Any) -> Rounded:
        """Return an array whose results have these roundings."""
        found = np.asarray(array).view(Rounded)
        found.roundings = self
        return found

    def moved(self, array: np.ndarray, terms: int = 1) -> np.ndarray:
        """Move every element, by as much as sums of so many terms may lose."""
        if terms <= 1 and array.dtype == _FLOAT64:
            return self._move(array, np.abs(array))
        growth = 1 + np.log2(max(terms, 1)) / 2
        return self._parts(array, lambda part, size: self._move(part, growth * size))

    def moved_as_a_whole(self, array: np.ndarray) -> np.ndarray:
        """Move each element, zeros too, by as much as a matrix's largest."""
        if not is_differentiable(array.dtype) or array.size == 0:
            return array
        largest = np.abs(array).max(axis=tuple(range(array.ndim))[-2:], keepdims=True)
        noise = self.moved(np.broadcast_to(largest, array.shape), array.size) - largest
        return np.asarray(array + noise, array.dtype)

    def narrowed(self, array: np.ndarray, dtype: np.dtype, exact: np.ndarray | bool = True) -> np.ndarray:
        """Cast to fewer digits, rounded at random unless exact."""
        nearest = array.astype(dtype)

        def rounded(part: np.ndarray, size: np.ndarray) -> np.ndarray:
            return self._move(part, size, real_of(dtype))

        kept = (nearest.astype(array.dtype) == array) | (array != array)
        return np.where(~(kept & exact), self._parts(array, rounded).astype(dtype), nearest)

    def underflowed(self, array: np.ndarray, args: list[Any]) -> np.ndarray:
        """Replace zeros that underflowed by tiny numbers on either side."""
        if np.count_nonzero(array) == array.size:
            return array
        lost = array == 0
        if not is_differentiable(array.dtype) or array.dtype.kind == "c":
            return array
        for value in args:
            lost &= np.asarray(value) != 0
        smallest = np.asarray(2.0 ** (_SMALLEST[array.dtype] - DIGITS[array.dtype] + 1), array.dtype)
        steps = np.rint(max(self.size, 1.0) * self._generator.random(array.shape))
        return np.where(lost, smallest * steps.astype(array.dtype), array)

    def _parts(self, array: np.ndarray, move: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply `move(part, size)` to the real and the imaginary part."""
        if not is_differentiable(array.dtype):
            return array
        if array.dtype.kind != "c":
            return move(array, np.abs(array))
        size = np.abs(array)
        found = np.empty(array.shape, array.dtype)
        found.real, found.imag = move(array.real, size), move(array.imag, size)
        return found

    def _move(self, array: np.ndarray, size: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
        """Move nonzero finite elements by a random part of a `size`."""
        precision = dtype or self._coarsest or array.dtype
        bound = self.size * 2.0 ** (1 - DIGITS[precision])
        amounts = self._generator.uniform(-bound, bound, array.shape).astype(array.dtype, copy=False)
        sizes = np.maximum(size, np.asarray(2.0 ** _SMALLEST[precision], array.dtype))
        moves = (array != 0) & np.isfinite(sizes)
        return np.where(moves, array + amounts * sizes, array).astype(array.dtype, copy=False)


class Rounded(np.ndarray):
    """An array whose results have random roundings."""

    roundings: Roundings

    def __array_finalize__(self, made_from: Any) -> None:
        known = getattr(made_from, "roundings", None)
        if known is not None:
            self.roundings = known

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **settings: Any) -> Any:
        """Apply a ufunc to plain arrays, and move its terms or result."""
        roundings = _roundings_of((*inputs, *(out or ())))
        args = [_plain(value) for value in inputs]
        with quiet():
            found = _rounded(roundings, ufunc, method, args, settings)
        targets = tuple(_plain(one) for one in out or ())
        for target, part in zip(targets, found if isinstance(found, tuple) else (found,), strict=False):
            if target is not None:
                target[...] = part
                return roundings.of(target)
        return _wrap(roundings, found)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        """Apply a NumPy function; moving data is exact, computing is not."""
        if function in _WRITTEN_IN_UFUNCS:
            return super().__array_function__(function, types, args, kwargs)
        roundings = _roundings_of((*args, *kwargs.values()))

        def inexact(array: np.ndarray) -> np.ndarray:
            as_a_whole = function in _STABLE_AS_A_WHOLE
            return roundings.moved_as_a_whole(array) if as_a_whole else roundings.moved(array, array.size)

        before, after = (_unchanged, _unchanged) if function in _MOVE_DATA else (inexact, roundings.moved)
        args, kwargs = _convert(before, args), {name: _convert(before, value) for name, value in kwargs.items()}
        return _wrap(roundings, function(*args, **kwargs), after)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Cast; round at random if the dtype has fewer digits."""
        target, plain = np.dtype(dtype), _plain(self)
        narrower = DIGITS.get(real_of(target), 53) < DIGITS.get(real_of(plain.dtype), 0)
        if is_differentiable(target) and narrower and (target.kind == "c") == (plain.dtype.kind == "c"):
            return self.roundings.of(self.roundings.narrowed(plain, target))
        is_raised = plain.dtype in HALVES and target not in HALVES
        roundings = self.roundings.as_of(plain.dtype) if is_raised else self.roundings
        return roundings.of(plain.astype(dtype, *args, **kwargs))


# How ufuncs round -----------------------------------------------------------------------------------


def _rounded(roundings: Roundings, ufunc: np.ufunc, method: str, args: list[Any], settings: dict[str, Any]) -> Any:
    """Return a rounded ufunc, or method of one, of plain arrays."""
    if method == "at":
        return ufunc.at(*args[:2], *(roundings.moved(np.asarray(value)) for value in args[2:]))
    if ufunc in EXACT:
        return getattr(ufunc, method)(*args, **settings)
    if method == "accumulate" and ufunc is np.add:
        return _partial_sums(roundings, np.asarray(args[0]), args[1:], settings)
    if method != "__call__" or ufunc.signature is not None:
        return _sum_of(roundings, ufunc, method, args, settings)
    return _elementwise(roundings, ufunc, args, settings)


def _elementwise(roundings: Roundings, ufunc: np.ufunc, args: list[Any], settings: dict[str, Any]) -> Any:
    """Compute in double precision, and round once."""
    found = ufunc(*args, **settings)
    if isinstance(found, tuple):
        return tuple(roundings.moved(part) for part in found)
    dtype = np.asarray(found).dtype
    if not is_differentiable(dtype):
        return found
    narrow = dtype in (_FLOAT32, *HALVES)
    if narrow:
        args = [a.astype(np.float64) if getattr(a, "dtype", None) in (_FLOAT32, *HALVES) else a for a in args]
    wide = np.asarray(ufunc(*args) if narrow else found)
    exact = is_exact(ufunc, args, wide)
    moved = roundings.narrowed(wide, dtype, exact) if narrow else np.where(exact, wide, roundings.moved(wide))
    return roundings.underflowed(moved, args) if ufunc in _NEVER_ZERO else moved


def _sum_of(
    roundings: Roundings, ufunc: np.ufunc, method: str, args: list[Any], settings: dict[str, Any]
) -> np.ndarray:
    """Return a sum or matrix product with moved terms, unless exact."""
    count = len(args) if ufunc.signature is not None else 1
    factors = [np.asarray(value) for value in args[:count]]
    terms = factors[0].shape[-1] if ufunc.signature is not None else factors[0].size
    if (ufunc is np.add or ufunc.signature is not None) and adds_exactly(terms, factors):
        return np.asarray(getattr(ufunc, method)(*args, **settings))
    if ufunc.signature is None:
        terms = factors[0].size // max(np.size(getattr(ufunc, method)(*args, **settings)), 1)
    moved = [roundings.moved(factor, terms) for factor in factors]
    return roundings.moved(np.asarray(getattr(ufunc, method)(*moved, *args[count:], **settings)), terms)


def _partial_sums(roundings: Roundings, terms: np.ndarray, args: list[Any], settings: dict[str, Any]) -> np.ndarray:
    """Move each partial sum by the moves of those before it."""
    sums = np.add.accumulate(terms, *args, **settings)
    if adds_exactly(terms.size, [terms]):
        return np.asarray(sums)
    return np.asarray(sums + np.add.accumulate(roundings.moved(sums) - sums, *args, **settings))


# Arrays in and out of them --------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Rounded) else value


def _unchanged(array: np.ndarray) -> np.ndarray:
    return array


def _convert(change: Callable[[np.ndarray], np.ndarray], value: Any) -> Any:
    """Change the rounded arrays among arguments, also in sequences."""
    if isinstance(value, Rounded):
        return change(_plain(value))
    if isinstance(value, (list, tuple)):
        return type(value)(_convert(change, item) for item in value)
    return value


def _roundings_of(values: Iterable[Any]) -> Roundings:
    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, Rounded):
            return value.roundings
        if isinstance(value, (list, tuple)):
            stack += value
    raise TypeError("no rounded array among the arguments")


def _wrap(roundings: Roundings, result: Any, change: Callable[[np.ndarray], np.ndarray] = _unchanged) -> Any:
    """Wrap the arrays among results as rounded; keep named tuples."""
    if isinstance(result, (list, tuple)):
        parts = [_wrap(roundings, part, change) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return roundings.of(change(np.asarray(result))) if isinstance(result, (np.ndarray, np.generic)) else result
