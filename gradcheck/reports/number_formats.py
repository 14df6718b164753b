"""The number formats of reports: how many digits each kind of number has.

A template of `phrases` names a kind (`{off:gap}`), code calls `format_number(kind, value)`. A table in a terminal has
one format for all of its numbers, which `tensors` chooses.
"""

from __future__ import annotations

import math
from typing import Any

#: Python's format of each kind of number.
NUMBER_FORMATS = {
    "value": ".6g",  # an element of a tensor
    "cell": ".4g",  # an element in a line of many, or in a table of the page
    "error": ".3g",  # an error, a tolerance, a norm, the ends of a range
    "gap": ".2g",  # a difference that rounding may explain
    "bar": ".1g",  # an error bar
    "magnitude": ".0e",  # a power of ten
    "factor": ".7g",  # a factor that may have a name
    "whole": ".0f",
    "milliseconds": ".3f",
}


def format_number(kind: str, value: float | complex) -> str:
    """Return a number in the format of its kind."""
    return format(value, NUMBER_FORMATS[kind])


def format_error(value: float | None) -> str:
    """Return an error or a tolerance; `unknown` for None."""
    return "unknown" if value is None else format_number("error", value)


def format_cell(value: Any) -> str:
    """Return an element among many; integers up to a million whole."""
    if isinstance(value, complex):
        return join_complex(format_cell(value.real), format_cell(value.imag))
    if isinstance(value, bool) or not math.isfinite(value):
        return str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e6 else format_number("cell", value)


def join_complex(real: str, imaginary: str) -> str:
    """Return `1+2j` for the texts of its parts."""
    return f"{real}{'' if imaginary.startswith('-') else '+'}{imaginary}j"


def format_pair(got: float | complex | None, want: float | complex | None) -> tuple[str, str]:
    """Return two values in as few digits as show that they differ."""
    for digits in range(6, 18):
        texts = (_with_digits(got, digits), _with_digits(want, digits))
        if texts[0] != texts[1]:
            break
    return texts


def _with_digits(value: float | complex | None, digits: int) -> str:
    if value is None:
        return "none"
    if isinstance(value, complex):
        return f"{value.real:.{digits}g}{value.imag:+.{digits}g}j"
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{digits}g}"


def format_duration(seconds: float) -> str:
    """Return `0.02s`, `4.2s`, `3m 20s`."""
    if seconds < 60:
        return f"{seconds:.{2 if seconds < 1 else 1}f}s"
    return f"{int(seconds // 60)}m {int(seconds % 60)}s"


def percentage(part: int, whole: int, digits: int = 0) -> str:
    """Return `12%`; 0% of nothing."""
    return f"{100 * part / max(whole, 1):.{digits}f}%"
