"""Ways to make a case smaller that leave its graph as it is: smaller sizes, simpler numbers, a plain dtype."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.shrinking.parts import (
    literals,
    mapped,
    named_literals,
    with_literal,
)
from gradcheck.language.case import Case


def smaller_sizes(case: Case) -> Iterator[Case]:
    """Every axis of one size cut to a smaller one."""
    arrays = [value.array for value in literals(case) if value.array is not None]
    sizes = sorted({size for array in arrays for size in np.shape(array) if size > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, 2, 3, size // 2, size - 1)):
            if 0 < smaller < size:
                yield mapped(case, lambda array, s=size, m=smaller: _cut(array, s, m), {size: smaller})  # type: ignore[misc]


def _cut(array: np.ndarray, size: int, smaller: int) -> np.ndarray:
    return array[tuple(slice(smaller) if length == size else slice(None) for length in array.shape)]


def simpler_numbers(case: Case) -> Iterator[Case]:
    """One tensor's numbers replaced by small integers, or rounded."""
    for kind, name, value in named_literals(case):
        array = value.array
        if array is None or not dtypes.is_differentiable(array.dtype):
            continue
        for simpler in (
            pattern(array),
            np.ones_like(array),
            _rounded(array, 0),
            _rounded(array, 1),
            _rounded(array, 2),
        ):
            if _plainer(simpler, array):
                yield with_literal(case, kind, name, replace(value, array=simpler))


def integers(case: Case) -> Iterator[Case]:
    """Whole numbers of inputs and incoming gradients without the decimal point, which changes nothing else."""
    for kind, name, value in named_literals(case):
        array = value.array
        if kind == "constants" or value.dtype or array is None or array.dtype.kind not in "fV":
            continue
        wide = array.astype(np.float64)
        if array.size and np.all(np.abs(wide) < 2**53) and np.all(wide == np.round(wide)):
            yield with_literal(case, kind, name, replace(value, array=wide.astype(np.int64)))


def plain_dtype(case: Case) -> Iterator[Case]:
    """In float64."""
    if case.dtype != "float64" and not case.dtype.startswith("complex"):
        yield mapped(replace(case, dtype="float64"), _in_double, {})


def _in_double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if dtypes.is_differentiable(array.dtype) else array


def pattern(array: np.ndarray) -> np.ndarray:
    """1, 2, 3, … 9, 1, … in the array's shape and dtype."""
    return (np.arange(array.size) % 9 + 1).reshape(array.shape).astype(array.dtype)


def _rounded(array: np.ndarray, digits: int) -> np.ndarray:
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return np.asarray(np.round(wide, digits)).astype(array.dtype)


def _plainer(simpler: np.ndarray, array: np.ndarray) -> bool:
    """Whether it takes less to write; of integers, none is plainer than others."""
    return _spelled(simpler) < _spelled(array)


def _spelled(array: np.ndarray) -> int:
    wide = array.astype(np.float64) if array.dtype.kind == "V" else array
    if dtypes.is_differentiable(array.dtype) and array.dtype.kind != "c" and np.all(wide == np.round(wide)):
        return array.size * (1 if np.all((wide >= 0) & (wide < 10)) else 4)
    return sum(4 + len(repr(number)) for number in wide.ravel().tolist())
