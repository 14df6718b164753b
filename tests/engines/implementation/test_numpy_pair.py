"""Pairs on NumPy arrays: what forwards and backwards may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.engines.implementation.numpy_pair import NumpyPair, gradients_in_order
from gradcheck.engines.tensor_class.user_code_guard import CodeError
from gradcheck.testing import check_function
from tests.engines.implementation import functions, layers

X, W, B = np.arange(6.0).reshape(3, 2), np.ones((2, 4)), np.zeros(4)


def pulled(forward: Any, backward: Any, *arguments: Any) -> list[Any]:
    results, several, pull = NumpyPair(forward, backward)(list(arguments), [True] * len(arguments))
    assert not several
    return list(pull([np.ones_like(results[0])]))


def test_a_cache_goes_from_one_to_the_other() -> None:
    gradients = pulled(functions.affine_forward, functions.affine_backward, X, W, B)
    assert np.array_equal(gradients[2], [3, 3, 3, 3])


def test_inputs_may_follow_the_cache() -> None:
    found = pulled(lambda x, w: (x @ w, x), lambda g, cache, w: (g @ w.T, cache.T @ g), X, W)
    assert np.array_equal(found[0], np.full((3, 2), 4))
    assert np.array_equal(found[1], X.T @ np.ones((3, 4)))


def test_a_list_whose_parameters_are_unknown_leaves_them_unchecked() -> None:
    class Short(layers.ReturnsList):
        def backward(self, dout: Any) -> Any:
            dx, gathered = super().backward(dout)
            return dx, gathered[:1]

    layer = Short()
    pair = NumpyPair(layer.forward, layer.backward)
    assert len(list(pair([np.ones((2, 3))], [True])[2]([np.ones((2, 4))]))) == 1
    assert sorted(pair.parameters.unchecked) == ["W", "b"]


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


def several_of(forward: Any, backward: Any, *arguments: Any) -> tuple[int, list[Any]]:
    """The number of results, and the gradients for ones and twos."""
    results, _, pull = NumpyPair(forward, backward)(list(arguments), [True] * len(arguments))
    return len(results), list(pull([np.full_like(one, place + 1) for place, one in enumerate(results)]))


def test_results_that_are_not_known_to_be_several() -> None:
    """As in CS231n: `(h, c, cache)` and `backward(dh, dc, cache)`."""

    def both(dsum: Any, dproduct: Any, cache: Any) -> Any:
        x, y = cache
        return dsum + dproduct * y, dsum + dproduct * x

    x, y = np.full(2, 3.0), np.full(2, 5.0)
    right = [[11, 11], [7, 7]]
    for forward, backward in (
        (lambda x, y: (x + y, x * y, (x, y)), both),
        (lambda x, y: ((x + y, x * y), (x, y)), lambda grads, cache: both(*grads, cache)),
        (lambda x, y: (x + y, x * y, (x, y)), lambda grads, cache: both(*grads, cache)),
    ):
        count, gradients = several_of(forward, backward, x, y)
        assert count == 2
        assert np.array_equal(gradients, right)


def test_caches_are_no_results() -> None:
    count, gradients = several_of(lambda x, w: (x * w, x, w), lambda dout, x, w: (dout * w, dout * x), B + 2, B + 3)
    assert count == 1
    assert np.array_equal(gradients[0], [3, 3, 3, 3])
    assert several_of(lambda x, data: (x * data, data), lambda dout, data: dout * data, B + 2, np.arange(4))[0] == 1
    assert several_of(lambda x: (2 * x, x), lambda dout: 2 * dout, B)[0] == 1


@pytest.mark.parametrize(
    "kind", [layers.Affine, layers.InDicts, layers.InLists, layers.OfParameters, layers.StoresAll, layers.ReturnsAll]
)
def test_a_layer_has_its_parameters_behind_its_inputs(kind: type) -> None:
    layer = kind()
    pair = NumpyPair(layer.forward, layer.backward)
    names = tuple(pair.parameters.found)[:1]
    before = pair.parameter_arrays()[names[0]].copy()
    _, _, pull = pair.changed(bound=tuple(names))([np.ones((2, 3)), np.full((3, 4), 5.0)], [True, True])
    gradients = pull([np.ones((2, 4))])
    assert np.array_equal(gradients[0], np.full((2, 3), 20.0))  # type: ignore[arg-type]
    assert np.array_equal(gradients[1], np.full((3, 4), 2.0))  # type: ignore[arg-type]
    assert np.array_equal(pair.parameter_arrays()[names[0]], before)  # the layer itself is as it was


def test_gradients_in_the_order_of_the_arguments() -> None:
    ids = np.array([1, 2])
    assert gradients_in_order((X, W), [X, ids, W], [True, False, True]) == [X, None, W]
    assert gradients_in_order(X, [X], [True])[0] is X
    assert gradients_in_order([X, None], [X, ids], [True, False])[0] is X
    assert gradients_in_order({"dx": X}, [X, W], [True, True], ["x", "w"]) == [X, None]
    assert gradients_in_order({"dX": X, "dz": W}, [X, W], [True, False], ["x", "w"]) == [X, None]
    with pytest.raises(CodeError, match="2 gradients for 3 inputs"):
        gradients_in_order((X, W), [X, W, B], [True, True, True])
    with pytest.raises(CodeError, match="the keys dq, none of them for x; expected dx,"):
        gradients_in_order({"dq": X}, [X], [True], ["x"])


def test_what_is_no_array() -> None:
    with pytest.raises(CodeError, match="returned str"):
        pulled(lambda x: "no", lambda g, x: g, X)


@pytest.mark.parametrize(("keys", "names", "missing"), [
    (("dx", "foo"), ("x", "w"), "w; expected dw,"),
    (("foo", "bar"), ("x", "w"), "x, w; expected dx, dw,"),
    (("dW", "foo"), ("w", "W"), "w; expected dw,"),
])  # fmt: skip
def test_keys_that_name_no_argument_are_told(keys: Any, names: Any, missing: str) -> None:
    with pytest.raises(CodeError, match=f"the keys {', '.join(keys)}, none of them for {missing}"):
        gradients_in_order(dict.fromkeys(keys, X), [X, W], [True, True], names)


def test_a_gradient_behind_a_loss_is_its_cache() -> None:
    def loss(x: Any) -> Any:
        return np.sum(x**2), 2 * x

    check_function(loss, lambda dout, dx: dout * dx, x=(4, 3))
