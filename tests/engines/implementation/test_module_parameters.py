"""Parameters of modules, and of those that a function mentions."""

from __future__ import annotations

import functools

import torch

from gradcheck.engines.implementation.module_parameters import (
    call_with_parameters,
    holder_of,
    parameter_arrays,
    parameter_names,
)
from tests.engines.implementation import functions

GLOBAL = functions.Layer()


def test_a_function_has_the_parameters_of_modules_that_it_mentions() -> None:
    layer = functions.Layer()
    for function in (lambda x: layer(x), layer.forward, functools.partial(torch.square), lambda x: GLOBAL(x)):
        holder = holder_of(function)
        assert (holder is None) == isinstance(function, functools.partial)
        if holder is not None:
            assert parameter_names(holder) == ("module.weight", "module.scale")


def test_a_module_inside_of_another_is_no_second_one() -> None:
    inner = functions.Layer()
    outer = torch.nn.Sequential(inner)
    holder = holder_of(lambda x: outer(x) + inner(x))
    assert holder is not None
    assert len(parameter_names(holder)) == 2


def test_parameters_are_replaced_for_one_call() -> None:
    layer = functions.Layer()
    layer.scale.requires_grad_(False)
    assert parameter_names(layer) == ("weight",)
    assert parameter_arrays(layer)["weight"].dtype.name == "float32"
    x = torch.ones(2, 3)
    found = call_with_parameters(layer, {"weight": torch.zeros(4, 3)}, ([x], {}), None)
    assert not found.any()
    assert layer(x).all()


def test_what_is_not_replaced_is_called_in_the_default_dtype_and_stays() -> None:
    module = torch.nn.BatchNorm1d(3)
    torch.set_default_dtype(torch.float64)
    try:
        found = call_with_parameters(module, {}, ([torch.rand(4, 3)], {}), None)
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.dtype is torch.float64
    assert module.weight.dtype is torch.float32
    assert not module.running_mean.any()  # type: ignore[union-attr, operator]
