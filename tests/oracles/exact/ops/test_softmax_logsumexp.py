"""Softmax and its kin: fractions of exponentials that are known to one another."""

from __future__ import annotations

import pytest

from tests.oracles.exact.identities import assert_different, assert_identity


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
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not() -> None:
    assert_different("softmax(x, 0)", "softmax(2 * x, 0)")
    assert_different("softmax(x, 0)", "softmax(x + 1, 0)")  # true of exponentials, but not kept
