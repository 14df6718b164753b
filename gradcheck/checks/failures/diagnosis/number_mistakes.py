"""Mistakes that change numbers: sign, factor, mean, precision, NaN."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, largest_finite, real_of, wide
from gradcheck.checks.closeness.tolerance import base, epsilon, modulus
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Guess, Rule, hypothesis, rule_hypothesis
from gradcheck.facts import Fact, fact

#: Ops that sum, so that 1/n means a mean.
_SUMS = frozenset({"sum", "cumsum", "sum_to_size", "trace", "nansum"})
#: Constants with names.
_NAMED_CONSTANTS = {
    math.pi: "pi",
    math.log(2): "log(2)",
    1 / math.log(2): "1/log(2)",
    math.log(10): "log(10)",
    1 / math.log(10): "1/log(10)",
    math.sqrt(2): "sqrt(2)",
    math.sqrt(0.5): "1/sqrt(2)",
    math.sqrt(2 * math.pi): "sqrt(2 * pi)",
}
#: Larger whole factors, or their inverses, are reported by their digits.
_MOST_WHOLE = 1e6
#: The most tensors of an op that are truncated in turn.
_MOST_TENSORS = 8

#: A rounded element is off by more than so many roundings of its dtype; relative errors as equal as this part are one
#: mistake.
_EXACT_TO, _SAME_PART = 64.0, 0.95

_LOWER: dict[str, tuple[np.dtype, ...]] = {
    "float64": (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16),
    "float32": (np.dtype(np.float16), BFLOAT16),
}


@hypothesis("sign", covers=("factor",))
def sign(e: Evidence) -> Iterator[Guess]:
    """The gradient has the wrong sign."""
    if e.got is not None and np.any(e.want):
        yield Guess("sign", fact("wrong_sign"), -e.want)


@hypothesis("factor")
def factor(e: Evidence) -> Iterator[Guess]:
    """The gradient is off by one number, the same at every point."""
    constant, both = mean_ratio(e), (e.want.dtype, e.got_or_zeros.dtype)
    unit = max(e.rounding_rtol, *(base(dtype).rtol for dtype in both))
    if constant is None or any(abs(constant - other) <= unit for other in (0, 1, -1)):
        return  # 1 is no factor: the difference is orthogonal to `want`
    digits = max(1, int(-math.log10(unit)) - 1)
    reliable = complex(*(float(f"{part:.{digits}e}") for part in (complex(constant).real, complex(constant).imag)))
    yield Guess(reliable, _factor_fact(constant, e), wide(e.want) * constant)


@rule_hypothesis("mean_for_sum", covers=("factor",))
def mean_for_sum(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """A sum of n numbers is divided by n."""
    if e.got is None:
        return
    output, tensor = rule.output, rule.tensor
    if output is None:
        return
    op = rule.application.op
    if op.name in _SUMS and output.size and output.size < tensor.size:
        n = tensor.size // output.size
        yield Guess(n, fact("mean_of_added", n=n, op=op.name), e.want / n)
    elif op.elementwise and tensor.size and tensor.size < output.size:
        n = output.size // tensor.size
        yield Guess(n, fact("mean_of_broadcast", n=n), e.want / n)


def mean_ratio(e: Evidence) -> complex | float | None:
    """Return the least-squares factor from `want` to `got`; None if undefined."""
    if e.got is None or e.got.shape != e.want.shape or not e.want.size:
        return None
    got, want = wide(e.got).ravel(), wide(e.want).ravel()
    finite = np.isfinite(got) & np.isfinite(want)
    square = float(np.vdot(want[finite], want[finite]).real)
    if not 0 < square < math.inf:
        return None
    constant = complex(np.vdot(want[finite], got[finite]) / square)
    return constant if abs(constant.imag) > base(e.want.dtype).rtol * modulus(constant) else constant.real


def _factor_fact(constant: complex | float, e: Evidence) -> Fact:
    """Return the factor as a count or a named constant, else as a number."""
    if isinstance(constant, complex):
        return fact("off_by_factor", factor=constant)
    minus = "-" if constant < 0 else ""
    size = abs(constant)
    near = max(1e-6, e.rounding_rtol, base(e.want.dtype).rtol)
    for n, count in _counts(e).items():
        for number, text in ((n, f"{n}"), (1 / n, f"1/{n}")):
            if math.isclose(size, number, rel_tol=near):
                return fact("off_by_count", factor=minus + text, n=n, count=count)
    for number, text in _NAMED_CONSTANTS.items():
        if math.isclose(size, number, rel_tol=near):
            return fact("off_by_factor", factor=minus + text)
    if abs(size - 1) <= epsilon(np.dtype("float32")):
        return fact("off_by_rounded_number", factor=constant, dtype="float32")
    for number, before in ((size, ""), (1 / size, "1/")):
        whole = round(number)
        if math.isclose(number, whole, rel_tol=near) and number < _MOST_WHOLE and whole * (minus == "") != 1:
            return fact("off_by_factor", factor=f"{minus}{before}{whole}")
    return fact("off_by_factor", factor=constant)


def _counts(e: Evidence) -> dict[int, Fact]:
    """Return sizes that may divide, above 2, with their meaning."""
    found: dict[int, Fact] = {}
    arrays = [(e.want, False)]
    if e.rule is not None and e.rule.output is not None:
        arrays.append((e.rule.output, True))
    for array, of_result in arrays:
        found.setdefault(array.size, fact("elements_of", of_result=of_result))
        for axis, size in enumerate(array.shape):
            found.setdefault(size, fact("size_of_axis", axis=axis, of_result=of_result))
            others = array.size // max(size, 1)
            found.setdefault(others, fact("elements_but_for_axis", axis=axis, of_result=of_result))
    return {n: count for n, count in found.items() if n > 2}


# Precisions, integers, NaN -----------------------------------------------------------------------------


@hypothesis("dtype", covers=("factor",))
def lower_precision(e: Evidence) -> Iterator[Guess]:
    """The gradient is rounded to a lower precision, or off by as much."""
    if e.got is None or e.got.shape != e.want.shape or not e.want.size:
        return
    if e.got.dtype != e.want.dtype and e.got.dtype.kind == e.want.dtype.kind:
        if _error(e) <= max(base(e.got.dtype).rtol, base(e.want.dtype).rtol):
            yield Guess("itself", fact("dtype_is", got=e.got.dtype.name, want=e.want.dtype.name), e.got)
        return
    for dtype in _LOWER.get(real_of(e.want.dtype).name, ()):
        if not epsilon(dtype) / 64 < _error(e) <= base(dtype).rtol:
            continue
        rounded = _rounded(e.got, dtype)
        exact = np.array_equal(rounded, e.got)
        if exact or _looks_rounded(e, dtype):
            found = fact("computed_in_dtype", dtype=dtype.name, exact=exact)
            yield Guess(dtype.name, found, rounded if exact else e.got, exact)
            return


def _looks_rounded(e: Evidence, dtype: np.dtype) -> bool:
    """Return whether most inexact elements are off, by different parts."""
    got, want = wide(e.got_or_zeros), wide(e.want)
    if not e.scale and np.any(got[want == 0]):  # where nothing cancels, 0 is no rounded number: log(x + 1e-5) at 1
        return False
    inexact = np.isfinite(want) & (_rounded(want, dtype) != want)
    error = np.abs(got - want)[inexact] / np.abs(want[inexact])
    off = error > _EXACT_TO * epsilon(e.want.dtype)
    if 2 * np.count_nonzero(off) < max(off.size, 1):
        return False
    parts = ((got - want)[inexact] / want[inexact])[off]
    return parts.size < 2 or bool(np.abs(np.mean(parts)) < _SAME_PART * np.sqrt(np.mean(np.abs(parts) ** 2)))


def _rounded(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if array.dtype.kind == "c":
        return np.asarray(_rounded(array.real, dtype) + 1j * _rounded(array.imag, dtype)).astype(array.dtype)
    return array.astype(dtype).astype(array.dtype)


def _error(e: Evidence) -> float:
    want = wide(e.want)
    scale = max(largest_finite(want), e.scale)
    error = float(np.max(np.abs(wide(e.got_or_zeros) - want), initial=0.0))
    return error / scale if scale else np.inf


@hypothesis("truncated")
def truncated_result(e: Evidence) -> Iterator[Guess]:
    """The gradient is rounded to integers."""
    if e.got is None or e.want.dtype.kind not in "fV":
        return
    dtype = e.got.dtype.name if e.got.dtype.kind in "iu" else ""
    if e.is_stated and not dtype and np.unique(e.got).size < 2:
        return  # a constant may be whole: -1 where -b belongs
    for function in (np.trunc, np.floor, np.rint):
        name, rounded = function.__name__, function(wide(e.want))
        if dtype or np.any(rounded):  # zeros alone are integers by chance
            yield Guess(name, fact("rounded_to_integers", how=name, dtype=dtype), rounded)


@rule_hypothesis("truncated")
def truncated_arguments(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """An argument, or the cotangent, has lost its fraction."""
    whole = {
        position: np.trunc(tensor)
        for position, tensor in enumerate(rule.tensors[:_MOST_TENSORS])
        if tensor.dtype.kind == "f" and np.any(np.trunc(tensor) != tensor) and np.any(np.trunc(tensor))  # not all zeros
    }
    for position, tensor in whole.items():
        found, cut_off = fact("argument_truncated", position=position), rule.gradient_with_tensors({position: tensor})
        if cut_off is not None and not e.agree(cut_off, e.want):  # it may have no influence
            yield Guess(position, found, cut_off)
    incoming = rule.incoming
    if incoming is not None and incoming.dtype.kind == "f":
        cut_off = rule.right_gradient(rule.application, [np.asarray(np.trunc(incoming))])
        if cut_off is not None and not e.agree(cut_off, e.want):
            yield Guess("incoming", fact("incoming_truncated"), cut_off)


@hypothesis("nan", covers=("factor", "dtype"))
def new_nan(e: Evidence) -> Iterator[Guess]:
    """The gradient is NaN or infinite, although nothing else is."""
    if e.got is None or e.got.shape != e.want.shape or e.got.dtype.kind not in "fcV":
        return
    bad = ~np.isfinite(wide(e.got)) & np.isfinite(wide(e.want))
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    is_nan = bool(np.isnan(wide(e.got)[index]))
    if e.rule is None:
        yield Guess("nan", fact("nan_appears", is_nan=is_nan, index=index), e.got)
        return
    argument = float(np.real(e.rule.tensor[index])) if e.rule.tensor.shape == e.want.shape else None
    op = e.rule.application.op.name
    yield Guess("nan", fact("nan_of_rule", is_nan=is_nan, op=op, index=index, argument=argument), e.got)
