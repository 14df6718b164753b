"""Ways to make a case smaller that leave its graph as it is: smaller sizes, simpler numbers, a plain dtype."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.shrinking.case_edits import given, with_arrays, with_given
from gradcheck.language.case import Case


def smaller_sizes(case: Case) -> Iterator[Case]:
    """Every axis of one size cut to a smaller one."""
    arrays = [one.value.array for one in given(case) if one.value.array is not None]
    sizes = sorted({size for array in arrays for size in np.shape(array) if size > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, 2, 3, size // 2, size - 1)):
            if 0 < smaller < size:
                yield _cut(case, size, smaller)


def _cut(case: Case, size: int, smaller: int) -> Case:
    def cut(array: np.ndarray) -> np.ndarray:
        return array[tuple(slice(smaller) if length == size else slice(None) for length in array.shape)]

    return with_arrays(case, cut, {size: smaller})


def simpler_numbers(case: Case) -> Iterator[Case]:
    """One tensor's numbers replaced by small integers, or rounded."""
    for one in given(case):
        array = one.value.array
        if array is None or not dtypes.is_differentiable(array.dtype):
            continue
        rounded = (_rounded(array, digits) for digits in (0, 1, 2))
        for simpler in (count_up(array), np.ones_like(array), *rounded):
            if _is_plainer(simpler, array):
                yield with_given(case, one, replace(one.value, array=simpler))


def integers(case: Case) -> Iterator[Case]:
    """Whole numbers of inputs and incoming gradients without the decimal point, which changes nothing else."""
    for one in given(case):
        array = one.value.array
        if one.section == "constants" or one.value.dtype or array is None or array.dtype.kind not in "fV":
            continue
        double = wide(array)
        if array.size and np.all(np.abs(double) < 2**53) and np.all(double == np.round(double)):
            yield with_given(case, one, replace(one.value, array=double.astype(np.int64)))


def plain_dtype(case: Case) -> Iterator[Case]:
    """In float64."""
    if case.dtype != "float64" and not case.dtype.startswith("complex"):
        yield with_arrays(replace(case, dtype="float64"), _in_double, {})


def _in_double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if dtypes.is_differentiable(array.dtype) else array


def count_up(array: np.ndarray) -> np.ndarray:
    """1, 2, 3, … 9, 1, … in the array's shape and dtype."""
    return (np.arange(array.size) % 9 + 1).reshape(array.shape).astype(array.dtype)


def _rounded(array: np.ndarray, digits: int) -> np.ndarray:
    return np.asarray(np.round(wide(array), digits)).astype(array.dtype)


def _is_plainer(simpler: np.ndarray, array: np.ndarray) -> bool:
    """Whether it takes less to write; of integers, none is plainer than others."""
    return _spelled(simpler) < _spelled(array)


def _spelled(array: np.ndarray) -> int:
    """About how many characters it takes."""
    double = wide(array) if array.dtype.kind == "V" else array
    if dtypes.is_differentiable(array.dtype) and array.dtype.kind != "c" and np.all(double == np.round(double)):
        return array.size * (1 if np.all((double >= 0) & (double < 10)) else 4)
    return sum(4 + len(repr(number)) for number in double.ravel().tolist())
