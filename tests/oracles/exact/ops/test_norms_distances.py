"""Norms of vectors, by sums of powers and by the largest element."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.dual import Dual
from tests.oracles.exact.calls import point
from tests.oracles.exact.identities import assert_identity, assert_is_the_function


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("linalg.vector_norm(x)", "sqrt((x * x).sum())"),
        ("linalg.vector_norm(x, inf)", "amax(abs(x))"),
        ("linalg.vector_norm(x, -inf)", "amin(abs(x))"),
        ("linalg.vector_norm(x[0], 2)", "sqrt(x[0] * x[0])"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_the_sum_of_sizes() -> None:
    assert_is_the_function("linalg.vector_norm(x, 1)")


def test_orders_that_are_counts_or_nothing() -> None:
    x = Dual(point(), np.arange(1, 13).reshape(3, 4))
    assert TABLE["linalg.vector_norm"](x, 0, dim=1).value.tolist() == [4, 4, 4]
    with pytest.raises(Unsupported, match="order 3"):
        TABLE["linalg.vector_norm"](x, 3)
