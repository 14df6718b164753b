"""Mistakes that leave the shape alone and change the size: a sign, a constant factor, a mean for a sum."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess
from gradcheck.facts import Fact, fact

#: Ops that add up what they are given, so that 1/n stands for a mean.
_SUMS = frozenset({"sum", "cumsum", "sum_to_size", "trace", "nansum"})
#: Constants that people know by name.
_NAMED = {
    math.pi: "pi",
    math.log(2): "log(2)",
    1 / math.log(2): "1/log(2)",
    math.log(10): "log(10)",
    1 / math.log(10): "1/log(10)",
    math.sqrt(2): "sqrt(2)",
    math.sqrt(0.5): "1/sqrt(2)",
}
#: A larger whole number, or its inverse, is no more telling than the digits.
_MOST_WHOLE = 1e6


@hypothesis("sign", covers=("factor",))
def sign(e: Evidence) -> Iterator[Guess]:
    """Minus what is right."""
    if e.got is not None and np.any(e.want):
        yield Guess("sign", fact("wrong_sign"), -e.want)


@hypothesis("factor")
def factor(e: Evidence) -> Iterator[Guess]:
    """What is right times a number, which must be the same at every point."""
    constant, unit = ratio(e), base(e.want.dtype).rtol
    if constant is None or any(abs(constant - other) <= unit for other in (0, 1, -1)):
        return  # 1 in the mean, to rounding, is no factor: the difference is orthogonal to what is right
    yield Guess(_key(constant, unit), _named(constant, e), wide(e.want) * constant)


@hypothesis("mean_for_sum", covers=("factor",))
def mean_for_sum(e: Evidence) -> Iterator[Guess]:
    """1/n of what is right, where n numbers are added up."""
    if e.rule is None or e.got is None:
        return
    output, tensor = e.rule.output, e.rule.tensor
    if output is None:
        return
    op = e.rule.application.op
    if op.name in _SUMS and output.size and output.size < tensor.size:
        n = tensor.size // output.size
        yield Guess(n, fact("mean_of_added", n=n, op=op.name), e.want / n)
    elif op.elementwise and tensor.size and tensor.size < output.size:
        n = output.size // tensor.size
        yield Guess(n, fact("mean_of_broadcast", n=n), e.want / n)


def ratio(e: Evidence) -> complex | float | None:
    """The constant by which `got` differs from `want` in the mean; None where there is nothing to divide by."""
    if e.got is None or e.got.shape != e.want.shape or not e.want.size:
        return None
    got, want = wide(e.got).ravel(), wide(e.want).ravel()
    finite = np.isfinite(got) & np.isfinite(want)
    square = float(np.vdot(want[finite], want[finite]).real)
    if not 0 < square < math.inf:
        return None
    constant = complex(np.vdot(want[finite], got[finite]) / square)
    return constant if abs(constant.imag) > base(e.want.dtype).rtol * abs(constant) else constant.real


def _key(constant: complex | float, unit: float) -> complex | float:
    """The constant to the digits that can be relied on, so that rounding does not make it another at the next point."""
    digits = max(1, int(-math.log10(unit)) - 1)
    parts = [float(f"{part:.{digits}e}") for part in (complex(constant).real, complex(constant).imag)]
    return complex(*parts) if parts[1] else parts[0]


def _named(constant: complex | float, e: Evidence) -> Fact:
    """The factor as somebody would write it, where it is one of sizes or a well-known constant; else the number."""
    if isinstance(constant, complex):
        return fact("off_by_factor", factor=constant)
    minus = "-" if constant < 0 else ""
    size = abs(constant)
    near = max(1e-6, base(e.want.dtype).rtol)
    for n, count in _counts(e).items():
        for number, text in ((n, f"{n}"), (1 / n, f"1/{n}")):
            if math.isclose(size, number, rel_tol=near):
                return fact("off_by_count", factor=minus + text, n=n, count=count)
    for number, text in _NAMED.items():
        if math.isclose(size, number, rel_tol=near):
            return fact("off_by_factor", factor=minus + text)
    for number, before in ((size, ""), (1 / size, "1/")):
        if math.isclose(number, round(number), rel_tol=near) and number < _MOST_WHOLE:
            return fact("off_by_factor", factor=f"{minus}{before}{round(number)}")
    return fact("off_by_factor", factor=constant)


def _counts(e: Evidence) -> dict[int, Fact]:
    """Sizes by which one divides, or forgets to divide; 2 and below are constants in their own right."""
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
