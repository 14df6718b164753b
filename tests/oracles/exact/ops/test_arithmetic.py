"""Arithmetic element by element: what is known of it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact.dual import DivisionByZero, Dual
from tests.oracles.exact.calls import point
from tests.oracles.exact.identities import assert_different, assert_identity


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("torch.add(x, y, alpha=3)", "x + 3 * y"),
        ("torch.sub(x, 2, alpha=0.5)", "x - 1"),
        ("lerp(x, y, 0.25)", "0.75 * x + 0.25 * y"),
        ("reciprocal(x) * x", "ones(5)"),
        ("torch.div(x, y, rounding_mode='floor')", "floor(x / y)"),
        ("deg2rad(x)", "x * 0.017453292519943295"),
        ("rad2deg(x)", "x * 57.29577951308232"),
        ("hypot(x, y)", "hypot(y, x)"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_roundings_differ() -> None:
    assert_different("x % y", "fmod(x, y)")


def test_division_by_zero_is_one_of_this_point() -> None:
    with pytest.raises(DivisionByZero, match="div: 0 has no inverse at this point"):
        TABLE["div"](1, Dual(point(), np.array([1, 0])))


def test_shapes_are_checked() -> None:
    x = Dual(point(), np.arange(6).reshape(2, 3))
    with pytest.raises(ShapeMismatch):
        TABLE["add"](x, Dual(x.point, np.arange(2)))
