"""Steps: uninterpreted, with what is true of every number."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact.degree import PIECEWISE
from tests.oracles.exact.identities import assert_different, assert_identity, names


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("frac(x) + trunc(x)", "x"),
        ("x % y + y * floor(x / y)", "x"),
        ("fmod(x, y) + y * trunc(x / y)", "x"),
        ("x // y", "floor(x / y)"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not() -> None:
    assert_different("ceil(x)", "floor(x) + 1")
    assert_different("x % y", "fmod(x, y)")
    assert_different("round(x)", "round(x, decimals=1)")


def test_a_step_has_no_tangent_and_is_piecewise() -> None:
    found = TABLE["floor"](names()["x"])
    assert found.tangent is None
    assert found.degree.kinds & PIECEWISE
    assert not np.any(found.value == 0)
