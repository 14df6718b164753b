"""The error function, and `x log y`."""

from __future__ import annotations

import pytest

from tests.oracles.exact.identities import assert_different, assert_identity


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("erf(x) + erfc(x)", "ones(5)"),
        ("erf(-x)", "-erf(x)"),
        ("erf(0 * x)", "zeros(5)"),
        ("xlogy(x, y)", "x * log(y)"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not() -> None:
    assert_different("erf(x)", "erf(y)")
