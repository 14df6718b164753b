"""The error function, its complement, and `xlogy`.

Derivatives: NIST Digital Library of Mathematical Functions, 7.10.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.op import elementwise
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.exp_log_pow import exp, log


def _xlogy_input(g: Any, y: Any, x: Any, z: Any) -> Any:
    flat = (x == 0) & (z <= 0)
    return where(flat, 0, g * log(where(flat, 1, z)))


@elementwise(
    (_xlogy_input, lambda g, y, x, z: g * (x / z)),
    aliases=("special.xlogy",),
    takes="f",
    floating=True,
    domain=((-3.0, 3.0), (0.1, 3.0)),
    kinks="other = 0",
    samples="xlogy(tensor([0.0, 0.0, 2.0]), tensor([0.0, 1.0, 3.0])); xlogy(2, uniform(0.1, 2, [3]))",
)
def xlogy(input: Any, other: Any) -> Any:
    """`input * log(other)`, and 0 where `input` is 0 (NaN where `other` is)."""
    product = input * np.log(np.where(input == 0, 1, other))
    return np.where(np.isnan(other), other, product)


def _of_c_library(function: Callable[[float], float], x: Any) -> Any:
    """Apply a function of the C library one by one: NumPy has none as precise."""
    values = np.asarray(x, np.float64).ravel().tolist()
    found = np.fromiter(map(function, values), np.float64, len(values)).reshape(np.shape(x))
    roundings = getattr(x, "roundings", None)  # of arrays that round at random
    found = found if roundings is None else roundings.of(roundings.moved(found))
    return found.astype(x.dtype, copy=False)


_ERF: dict[str, Any] = {"takes": "f", "floating": True}


@elementwise(lambda g, y, x: g * (2 / math.sqrt(math.pi) * exp(-(x * x))), aliases=("special.erf",), **_ERF)
def erf(input: Any) -> Any:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t^2)."""
    return _of_c_library(math.erf, input)


@elementwise(lambda g, y, x: g * (-2 / math.sqrt(math.pi) * exp(-(x * x))), aliases=("special.erfc",), **_ERF)
def erfc(input: Any) -> Any:
    """`1 - erf(input)`, precise where that is small."""
    return _of_c_library(math.erfc, input)
