"""The larger of two, the largest of many: what is true of every order, and no more."""

from __future__ import annotations

import pytest

from tests.oracles.exact.identities import assert_different, assert_identity, assert_is_the_function


@pytest.mark.parametrize(
    "text",
    [
        *("clamp(x, -4, 5)", "clamp(x, min=0)", "clamp(x, max=2)", "clamp(x, min=w)", "clamp(x, max=w)"),
        *("maximum(x, w)", "minimum(x, w)", "fmax(x, 2 * w)", "fmin(x, w)"),
    ],
)
def test_the_larger_of_two(text: str) -> None:
    assert_is_the_function(text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("maximum(x, y) + minimum(x, y)", "x + y"),
        ("amax(x)", "-amin(-x) + amax(x) + amin(-x)"),
        ("(x == amax(x)).sum()", "ones(1)[0]"),
        ("amax(x.flip(0))", "amax(x)"),
        ("amax(x[0])", "x[0]"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not() -> None:
    assert_different("amax(x)", "amin(x)")
