"""The object whose methods a forward and its backward are, or call."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.implementation.layer_owner import method_of, shared_owner
from gradcheck.testing import check_function


class Scaled:
    """A layer with a learning rate in its backward, and its result in itself."""

    def __init__(self, wrong: float = 1.0) -> None:
        self.W, self.dW, self.wrong = np.full((3, 2), 0.5), np.zeros((3, 2)), wrong

    def forward(self, x: np.ndarray, scale: float = 2.0) -> np.ndarray:
        self.x, self.scale = x, scale
        return scale * x @ self.W

    def backward(self, delta: np.ndarray, rate: float) -> np.ndarray:
        self.dW = self.wrong * self.scale * self.x.T @ delta
        return self.scale * delta @ self.W.T


def logged(method: Any) -> Any:
    """Decorate a method by a function that has another name and signature."""

    def wrap(*args: Any, **keywords: Any) -> Any:
        return method(*args, **keywords)

    return wrap


class Logged(Scaled):
    """A layer whose methods are decorated."""

    forward = logged(Scaled.forward)

    @logged
    def backward(self, delta: np.ndarray) -> np.ndarray:
        return Scaled.backward(self, delta, 0.0)


LAYER = Scaled()


def test_functions_that_call_methods_of_one_object_share_it() -> None:
    layer, other = Scaled(), Scaled()
    backward = lambda delta: layer.backward(delta, 0.0)  # noqa: E731
    assert shared_owner(layer.forward, backward) is layer
    assert shared_owner(partial(layer.forward, scale=3.0), backward) is layer
    assert shared_owner(lambda x: layer.forward(x), partial(layer.backward, rate=0.0)) is layer
    assert shared_owner(lambda x: LAYER.forward(x), lambda delta: LAYER.backward(delta, 0.0)) is LAYER
    assert shared_owner(other.forward, backward) is None
    assert shared_owner(np.tanh, lambda delta: delta) is None


@pytest.mark.parametrize("layer", [LAYER, Scaled()], ids=["global", "closure"])
def test_a_function_gets_another_object(layer: Scaled) -> None:
    of_global = lambda x, *, by=1.0: by * LAYER.forward(x)  # noqa: E731
    used = of_global if layer is LAYER else lambda x, *, by=1.0: by * layer.forward(x)
    other = Scaled()
    other.W = np.ones((3, 2))
    x = np.ones((4, 3))
    assert np.array_equal(method_of(other, used, layer)(x), 2.0 * x @ other.W)
    assert np.array_equal(method_of(other, layer.forward, layer)(x), 2.0 * x @ other.W)
    assert np.array_equal(used(x), 2.0 * x @ layer.W)


@pytest.mark.parametrize("wrong", [1.0, 0.5])
def test_a_layer_inside_functions_is_checked_with_its_parameters(wrong: float) -> None:
    layer = Scaled(wrong)

    def check(**further: Any) -> None:
        check_function(lambda x: layer.forward(x, 3.0), lambda delta: layer.backward(delta, 0.0), x=(4, 3), **further)

    if wrong == 1:
        check()
    else:
        with pytest.raises(AssertionError, match="gradient of W"):
            check()


@pytest.mark.parametrize("wrong", [1.0, 0.5])
def test_methods_may_be_decorated_by_a_function_of_another_name(wrong: float) -> None:
    if wrong == 1.0:
        check_function(Logged(), x=(4, 3))
        return
    with pytest.raises(AssertionError, match="off by the constant factor 1/2"):
        check_function(Logged(wrong), x=(4, 3))


class Stateless:
    """A layer that keeps nothing before its first call."""

    def __call__(self, x: Any) -> Any:
        self.out = np.tanh(x)
        return self.out

    def backward(self, g: Any) -> Any:
        return g * (1 - self.out**2)


def _run(layer: Stateless, x: Any) -> Any:
    layer(x)
    return layer.out


def test_a_new_layer_may_be_called_itself_or_by_a_helper() -> None:
    layer = Stateless()
    check_function(lambda x: layer(x), layer.backward, x=(4, 3))
    check_function(lambda x: _run(layer, x), lambda g: layer.backward(g), x=(4, 3))
