"""The library that code is written for, and its constants."""

from __future__ import annotations

import functools
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.mentioned_code import constants_in, library_of, method_of, shared_owner
from gradcheck.testing import check_function
from tests.engines.implementation import functions

BLOCK = 64


class _Tiles:
    SIZE = 72

    def __init__(self) -> None:
        self.width = 88

    @staticmethod
    def backward(g: Any) -> Any:
        return _with_default(g) + _Tiles.SIZE

    def forward(self, x: Any) -> Any:
        return x + self.width


def _with_default(x: Any, block: int = 80) -> Any:
    return x + BLOCK


def _closure(size: int) -> Any:
    return lambda x: x[:size]


class _Kernel:
    """As Triton wraps a function."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self) -> None:
        raise RuntimeError("launched without a grid")


KERNEL = _Kernel(_with_default)
USERS = ModuleType("users_kernels")
USERS.launch = _with_default  # type: ignore[attr-defined]


def made(library: ModuleType, text: str, name: str = "f") -> Any:
    """A function of a module in which `np` is the library."""
    known: dict[str, Any] = {"np": library, "__name__": "mine"}
    exec(text, known)
    return known[name]


@pytest.fixture
def hips() -> ModuleType:
    pytest.importorskip("autograd")
    import autograd.numpy

    return autograd.numpy


def test_what_the_code_names_decides(hips: ModuleType) -> None:
    assert library_of(made(hips, "def f(x):\n    return np.sin(x)")) == "autograd"
    assert library_of(made(torch, "def f(x):\n    return np.sin(x)")) == "torch"
    assert library_of(lambda x: x * x) == "torch"


def test_wrappers_show_what_they_wrap(hips: ModuleType) -> None:
    sine = made(hips, "def f(x):\n    return np.sin(x)")
    rows = made(hips, "def f(x, dim):\n    return np.sum(x, dim)")
    assert library_of(lambda x: sine(x)) == "autograd"
    assert library_of(functools.partial(rows, dim=0)) == "autograd"
    assert library_of(functools.partial(lambda x, by: by(x), by=sine)) == "autograd"


def test_primitives_methods_and_instances_do(hips: ModuleType) -> None:
    from autograd.extend import primitive

    text = "class Layer:\n    def __call__(self, x):\n        return self.sine(x)\n"
    text += "    def sine(self, x):\n        return np.sin(x)"
    layer = made(hips, text, "Layer")()
    assert library_of(layer) == library_of(layer.sine) == "autograd"
    assert library_of(lambda x: layer(x)) == "autograd"
    assert library_of(primitive(np.sin)) == "autograd"


def test_a_module_of_the_users_is_looked_into(hips: ModuleType) -> None:
    module = ModuleType("ops")
    module.sine = made(hips, "def f(x):\n    return np.sin(x)")  # type: ignore[attr-defined]
    assert library_of(made(module, "def f(x):\n    return np.sine(x)")) == "autograd"


def test_an_attribute_is_no_global_of_the_same_name(hips: ModuleType) -> None:
    sine = made(hips, "def f(x):\n    return np.sin(x)")
    sine.__globals__["sin"] = torch.sin
    assert library_of(sine) == "autograd"


def test_an_import_inside_the_function_counts() -> None:
    assert library_of(made(np, "def f(x):\n    import autograd.numpy as ap\n    return ap.sin(x)")) == "autograd"


def test_constants_are_those_of_users_code() -> None:
    assert 1e-5 in set(constants_in(functions.noisy))
    assert set(constants_in(functools.partial(lambda x, by: x * by, by=lambda x: x * 37.0))) == {37.0}
    assert not set(constants_in(torch.nn.functional.gelu))


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (_Tiles.backward, {64, 72, 80}),
        (_Tiles().forward, {88}),
        (_closure(96), {96}),
        (functools.partial(_with_default, block=3), {3, 64, 80}),
        (lambda x: KERNEL, {64, 80}),
        (lambda x: USERS.launch(x), {64, 80}),
        (lambda x: torch.nn.functional.gelu(x) * 0.5 if BLOCK else True, {0.5, 64}),
    ],
)
def test_constants_are_found_wherever_they_stand(function: Any, found: set[float]) -> None:
    assert set(constants_in(function)) == found


class _Driver:
    """As a stand-in for a driver that is not installed."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no driver, asked for {name}")


DRIVER = _Driver()


def test_an_object_that_raises_for_any_attribute_says_nothing() -> None:
    assert library_of(lambda x: DRIVER.launch(x) if BLOCK else x) == "torch"


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
