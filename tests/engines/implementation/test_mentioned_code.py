"""The library that code is written for, and its constants."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.mentioned_code import constants_in, library_of
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
