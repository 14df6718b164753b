"""Arithmetic element by element: what is known of it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact.dual import DivisionByZero, Dual
from tests.oracles.exact.calls import point
from tests.oracles.exact.identities import assert_identity, assert_is_the_function


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("torch.add(x, y, alpha=3)", "x + 3 * y"),
        ("torch.sub(x, 2, alpha=0.5)", "x - 1"),
        ("lerp(x, y, 0.25)", "0.75 * x + 0.25 * y"),
        ("reciprocal(x) * x", "ones(5)"),
        ("torch.div(x, y, rounding_mode='floor')", "floor(x / y)"),
        ("hypot(x, y)", "hypot(y, x)"),
        ("hypot(x, y)", "sqrt(x * x + y * y)"),
        ("abs(-x)", "abs(x)"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_division_by_zero_is_one_of_this_point() -> None:
    with pytest.raises(DivisionByZero, match="div: 0 has no inverse at this point"):
        TABLE["div"](1, Dual(point(), np.array([1, 0])))


def test_shapes_are_checked() -> None:
    x = Dual(point(), np.arange(6).reshape(2, 3))
    with pytest.raises(ShapeMismatch):
        TABLE["add"](x, Dual(x.point, np.arange(2)))


@pytest.mark.parametrize("text", ["abs(x) * w", "sign(x) * x", "abs(abs(x) - 2)", "l1_loss(x, w)"])
def test_signs_are_those_of_the_numbers(text: str) -> None:
    assert_is_the_function(text)
