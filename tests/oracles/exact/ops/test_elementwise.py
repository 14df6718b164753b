"""Arithmetic, comparisons, logic and steps: what the rules know of them, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.oracles.exact.degree import PIECEWISE
from gradcheck.oracles.exact.dual_numbers import DivisionByZero, Dual, Indicator
from gradcheck.oracles.exact.ops.elementwise import positive, select
from tests.oracles.exact.calls import PRIME, point
from tests.oracles.exact.identities import assert_different, assert_identity, assert_is_the_function, names


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


@pytest.mark.parametrize(
    "text",
    [
        *("where(x > w, x * x, w)", "where((x > 0) & (w > 0), x, w)", "where((x > 0) | (w < 0), x * w, 1.0)"),
        *("where(~(x >= 2), x, w)", "(x > w) * x", "(x > 0).sum() * x"),
        *(
            "where(all(x > 6), x, w)",
            "masked_fill(x, w > 0, 2.0)",
            "where(tensor([True, False, True, False, True, False]), x, w)",
        ),
    ],
)
def test_choices(text: str) -> None:
    assert_is_the_function(text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x > y", "y < x"),
        ("x >= y", "~(x < y)"),
        ("x > y", "x >= y"),
        ("(x > 0) + 0", "1 - ((-x) > 0)"),
        ("(x > 0) & True", "x > 0"),
        ("(x > 0) | False", "x > 0"),
        ("x > x", "zeros(5)"),
        ("x >= x", "ones(5)"),
        ("x == x", "ones(5)"),
        ("x == y", "zeros(5)"),
        ("x != y", "ones(5)"),
        ("relu(x) != relu(x)", "zeros(5)"),
        ("isfinite(x)", "ones(5)"),
        ("isnan(x)", "zeros(5)"),
    ],
)
def test_what_is_known_of_comparisons(left: str, right: str) -> None:
    assert_identity(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x > y", "x > 2 * y"),
        ("relu(x) >= 0", "relu(x) > 0"),
        ("(relu(x) > y) * 1", "1 - (y > relu(x))"),
        ("relu(x) == 0", "zeros(5)"),
        ("floor(x) == floor(y)", "zeros(5)"),
        ("(x > 0) * (x > 0)", "(x > 0) * 1"),
    ],
)
def test_what_is_not(left: str, right: str) -> None:
    assert_different(left, right)


def test_indicators_are_no_booleans() -> None:
    """They are unknowns: neither 0 nor 1, so that both are proved at once."""
    c = positive(names()["x"])
    assert isinstance(c, Indicator)
    assert c.degree.kinds & PIECEWISE
    assert np.all(c.value > 1)
    assert np.array_equal((~~c).value, c.value)
    assert isinstance(c & ~c, Indicator)
    assert np.array_equal((c & ~c).value, c.value * (1 - c.value) % PRIME)
    assert np.array_equal(select(c, c, c).value, c.value)


def test_orders_of_two() -> None:
    scope = names()
    x, y = scope["x"], scope["y"]
    assert isinstance(x > y, Indicator)
    assert np.array_equal((x > 0).value, positive(x).value)
    assert np.array_equal((x > y).value, (1 - (x < y).value) % PRIME)


def test_numbers_are_not_taken_for_conditions() -> None:
    x = names()["x"]
    with pytest.raises(Unsupported):
        TABLE["where"](x, x, x)
    with pytest.raises(Unsupported):
        TABLE["logical_not"](x)
    with pytest.raises(Unsupported):
        TABLE["logical_and"](x > 0, x)


def test_zero_tests_are_counted() -> None:
    x = names()["x"]
    assert TABLE["gt"](x, 0).point.zero_tests == 5
    assert not np.any(TABLE["eq"](x, 0))
    assert x.point.zero_tests == 10


def test_nothing_is_finite_where_there_are_infinities() -> None:
    x = names()["x"]
    x.point.infinity(-1)
    with pytest.raises(Unsupported, match="infinities"):
        TABLE["isfinite"](x)


def test_an_infinity_is_compared_like_any_number() -> None:
    """Nothing is absorbed by it: what is chosen is -inf or not, and x > -inf says nothing of y."""
    x, y = names()["x"], names()["y"]
    endless = Dual(x.point, np.full(5, x.point.infinity(-1)))
    assert np.all(endless == endless)
    assert not np.any((x > endless).value == (y > endless).value)
    chosen = TABLE["where"](x > 0, y, endless)
    assert not np.any(chosen.value == endless.value)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("frac(x) + trunc(x)", "x"),
        ("x % y + y * floor(x / y)", "x"),
        ("fmod(x, y) + y * trunc(x / y)", "x"),
        ("x // y", "floor(x / y)"),
    ],
)
def test_what_is_known_of_steps(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not_of_steps() -> None:
    assert_different("ceil(x)", "floor(x) + 1")
    assert_different("x % y", "fmod(x, y)")
    assert_different("round(x)", "round(x, decimals=1)")


def test_a_step_has_no_tangent_and_is_piecewise() -> None:
    found = TABLE["floor"](names()["x"])
    assert found.tangent is None
    assert found.degree.kinds & PIECEWISE
    assert not np.any(found.value == 0)
