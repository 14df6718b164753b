"""Activations, smooth and piecewise linear ones, softmax and its kin."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.ops.activations import clamped
from tests.oracles.exact.identities import assert_different, assert_identity, assert_is_the_function, both, names


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("exp(logsigmoid(x))", "sigmoid(x)"),
        ("sigmoid(x) + sigmoid(-x)", "ones(5)"),
        ("silu(x)", "x * sigmoid(x)"),
        (
            "gelu(x, approximate='tanh')",
            "0.5 * x * (1 + tanh((2 / 3.141592653589793) ** 0.5 * (x + 0.044715 * x * x * x)))",
        ),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_gelu_has_a_slope_in_a_form_of_its_own() -> None:
    assert_identity("gelu(x)", "x * 0.5 * (1 + erf(x / 2 ** 0.5))", tangents=False)


def test_what_is_not() -> None:
    assert_different("softplus(x)", "log(1 + exp(x))")  # above its threshold it is x
    assert_different("silu(x)", "gelu(x)")


@pytest.mark.parametrize(
    "text",
    [
        *("relu(x)", "relu(x * w) ** 2", "leaky_relu(x, 0.25)", "hardtanh(x, -2, 4)", "relu6(x + w)"),
        *("threshold(x, 2, 20)", "hardshrink(x, 2)", "softshrink(x, 2)", "relu(w - relu(x - 2))"),
    ],
)
def test_piecewise_linear_ones(text: str) -> None:
    assert_is_the_function(text)


def test_a_rectified_number_is_never_negative() -> None:
    scope = names()
    value, _, other, _ = both("relu(x) > 0", "x > 0", scope)
    assert np.array_equal(value, other)
    value, _, other, _ = both("-relu(x) > 0", "zeros(5)", scope)
    assert np.array_equal(value, other)


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(Unsupported, match="between 2 and 1"):
        clamped(names()["x"], 2, 1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("exp(logsumexp(x, 0))", "exp(x).sum()"),
        ("exp(log_softmax(x, 0))", "softmax(x, 0)"),
        ("exp(x - logsumexp(x, 0))", "softmax(x, 0)"),
        ("softmax(x, 0).sum()", "tensor(1.0)"),
        ("logsumexp(x, 0, True)[0]", "logsumexp(x, 0)"),
        ("log_softmax(x[0], 0)", "x[0] - logsumexp(x[0], 0)"),
    ],
)
def test_what_is_known_of_softmax(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not_of_softmax() -> None:
    assert_different("softmax(x, 0)", "softmax(2 * x, 0)")
    assert_different("softmax(x, 0)", "softmax(x + 1, 0)")  # true of exponentials, but not kept
