"""Mistakes that leave the shape alone and change the size: a sign, a constant factor, a mean for a sum."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gradcheck.checks.closeness.compare import wide
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess

#: Ops that add up what they are given, so that 1/n stands for a mean.
_SUMS = frozenset({"sum", "cumsum", "sum_to_size", "trace", "nansum"})
#: Constants that people know by name.
_NAMED = {2.0: "2", 0.5: "1/2", 3.0: "3", 1 / 3: "1/3", 4.0: "4", 0.25: "1/4", math.pi: "pi", math.log(2): "log(2)",
          1 / math.log(2): "1/log(2)", math.log(10): "log(10)", 1 / math.log(10): "1/log(10)",
          math.sqrt(2): "sqrt(2)", math.sqrt(0.5): "1/sqrt(2)"}  # fmt: skip


@hypothesis("sign", covers=("factor",))
def sign(e: Evidence) -> Iterator[Guess]:
    """Minus what is right."""
    if e.got is not None and np.any(e.want):
        yield Guess("sign", "the sign is wrong: it is -1 times what is right", -e.want)


@hypothesis("factor")
def factor(e: Evidence) -> Iterator[Guess]:
    """What is right times a number, which must be the same at every point."""
    constant, unit = ratio(e), base(e.want.dtype).rtol
    if constant is None or any(abs(constant - other) <= unit for other in (0, 1, -1)):
        return  # 1 in the mean, to rounding, is no factor: the difference is orthogonal to what is right
    name = _name(constant, e)
    yield Guess(_key(constant, unit), f"off by the constant factor {name}", wide(e.want) * constant)


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
        n, what = tensor.size // output.size, f"{op.name} adds up"
    elif op.elementwise and tensor.size and tensor.size < output.size:
        n, what = output.size // tensor.size, "one element of the argument was broadcast to"
    else:
        return
    yield Guess(n, f"a mean for a sum: 1/{n} of what is right, where {n} is how many numbers {what}", e.want / n)


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


def _name(constant: complex | float, e: Evidence) -> str:
    """`2`, `1/2`, `1/6, where 6 is its number of elements`."""
    if isinstance(constant, complex):
        return f"{constant:.6g}"
    minus, size = ("-", -constant) if constant < 0 else ("", constant)
    near = max(1e-6, base(e.want.dtype).rtol)
    for n, meaning in _counts(e).items():
        for number, text in ((n, f"{n}"), (1 / n, f"1/{n}")):
            if math.isclose(size, number, rel_tol=near):
                return f"{minus}{text}, where {n} is {meaning}"
    for number, text in _NAMED.items():
        if math.isclose(size, number, rel_tol=near):
            return minus + text
    if math.isclose(size, round(size), rel_tol=near) and size < 1e6:
        return f"{minus}{round(size)}"
    inverse = 1 / size
    if math.isclose(inverse, round(inverse), rel_tol=near) and inverse < 1e6:
        return f"{minus}1/{round(inverse)}"
    return f"{minus}{size:.7g}"


def _counts(e: Evidence) -> dict[int, str]:
    """Sizes by which one divides, or forgets to divide; 2 and below are constants in their own right."""
    found: dict[int, str] = {}
    arrays = [(e.want, "")]
    if e.rule is not None and e.rule.output is not None:
        arrays.append((e.rule.output, " of the result"))
    for array, of in arrays:
        found.setdefault(array.size, f"the number of elements{of}")
        for axis, size in enumerate(array.shape):
            found.setdefault(size, f"the size of axis {axis}{of}")
            found.setdefault(array.size // max(size, 1), f"the number of elements{of} but for axis {axis}")
    return {n: meaning for n, meaning in found.items() if n > 2}
