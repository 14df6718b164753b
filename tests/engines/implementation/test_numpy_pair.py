"""Pairs on NumPy arrays: what forwards and backwards may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.engines.implementation.code_error import CodeError
from gradcheck.engines.implementation.numpy_pair import NumpyPair, gradients_in_order
from tests.engines.implementation import functions

X, W, B = np.arange(6.0).reshape(3, 2), np.ones((2, 4)), np.zeros(4)


def pulled(forward: Any, backward: Any, *arguments: Any) -> list[Any]:
    results, several, pull = NumpyPair(forward, backward)(list(arguments), [True] * len(arguments))
    assert not several
    return list(pull([np.ones_like(results[0])]))


def test_a_cache_goes_from_one_to_the_other() -> None:
    gradients = pulled(functions.affine_forward, functions.affine_backward, X, W, B)
    assert np.array_equal(gradients[2], [3, 3, 3, 3])


def test_without_one_the_inputs_do() -> None:
    assert np.array_equal(pulled(functions.square, functions.square_backward, B + 3)[0], [6, 6, 6, 6])
    assert pulled(lambda a, b: a * b, lambda g, b, a: (g * b, g * a), X, 2 * X)[0][1, 0] == 4  # by name
    assert pulled(lambda a: a**2, lambda g, a, out: g * out, X)[0][2, 1] == 25


def test_several_results() -> None:
    pair = NumpyPair(lambda x: (x.min(), x.max()), lambda g, x: x * 0 + g[0] + 10 * g[1], 2)
    results, several, pull = pair([X], [True])
    assert several
    assert [float(one) for one in results] == [0, 5]
    assert pull([np.asarray(1.0), np.asarray(2.0)])[0][0, 0] == 21


def test_gradients_in_the_order_of_the_arguments() -> None:
    ids = np.array([1, 2])
    assert gradients_in_order((X, W), [X, ids, W], [True, False, True]) == [X, None, W]
    assert gradients_in_order(X, [X], [True])[0] is X
    assert gradients_in_order([X, None], [X, ids], [True, False])[0] is X
    assert gradients_in_order({"dx": X}, [X, W], [True, True], ["x", "w"]) == [X, None]
    with pytest.raises(CodeError, match="2 gradients for 3 inputs"):
        gradients_in_order((X, W), [X, W, B], [True, True, True])
    with pytest.raises(CodeError, match="gradients of dq"):
        gradients_in_order({"dq": X}, [X], [True], ["x"])


def test_what_is_no_array() -> None:
    with pytest.raises(CodeError, match="returned str"):
        pulled(lambda x: "no", lambda g, x: g, X)
