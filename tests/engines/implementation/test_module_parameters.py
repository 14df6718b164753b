"""Parameters of modules, and of those that a function mentions."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from gradcheck.engines.implementation.module_parameters import (
    ModuleState,
    holder_of,
    parameter_arrays,
    parameter_names,
)
from gradcheck.testing import check_function
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


def test_parameters_are_replaced_until_they_are_restored() -> None:
    layer = functions.Layer()
    layer.scale.requires_grad_(False)
    assert parameter_names(layer) == ("weight",)
    assert parameter_arrays(layer)["weight"].dtype.name == "float32"
    x = torch.ones(2, 3)
    state = ModuleState(layer)
    assert not state.call({"weight": torch.zeros(4, 3)}, ([x], {}), None).any()
    assert not layer(x).any()
    state.restore()
    assert layer(x).all()


def test_what_is_not_replaced_is_called_in_the_default_dtype_and_stays() -> None:
    module = torch.nn.BatchNorm1d(3)
    torch.set_default_dtype(torch.float64)
    try:
        state = ModuleState(module)
        found = state.call({}, ([torch.rand(4, 3)], {}), None)
        state.restore()
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.dtype is torch.float64
    assert module.weight.dtype is torch.float32
    assert not module.running_mean.any()  # type: ignore[union-attr, operator]


def test_a_module_that_is_used_twice_gets_its_own_parameters_back() -> None:
    inner = torch.nn.Linear(2, 2)
    own = inner.weight
    shared = torch.nn.ModuleDict({"first": inner, "second": torch.nn.Sequential(inner)})
    state = ModuleState(torch.nn.Sequential(shared, inner))
    with pytest.raises(NotImplementedError):  # a ModuleDict has no forward
        state.call({"0.first.weight": torch.zeros(2, 2)}, ([torch.ones(2)], {}), None)
    assert not inner.weight.any()
    state.restore()
    assert inner.weight is own


class Recomputing(torch.autograd.Function):
    """Keep nothing, and run the module again in the backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, net: Any) -> Any:
        ctx.x, ctx.net = x.detach(), net
        with torch.no_grad():
            return net(x)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        with torch.enable_grad():
            x = ctx.x.detach().requires_grad_()
            torch.autograd.backward(ctx.net(x), g)
        return x.grad, None


class Checkpointed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()).double()

    def forward(self, x: torch.Tensor) -> Any:
        return checkpoint(self.net, x, use_reentrant=False)


class Reentrant(Checkpointed):
    def forward(self, x: torch.Tensor) -> Any:
        return Recomputing.apply(x, self.net)


@pytest.mark.filterwarnings("ignore:.*torch.cpu.amp.autocast:FutureWarning")  # of torch 2.4 by itself
def test_a_backward_that_runs_the_module_again_finds_its_parameters() -> None:
    module = Checkpointed()
    own = dict(module.named_parameters())
    check_function(module, x=torch.randn(2, 3, dtype=torch.float64, requires_grad=True))
    assert all(one is own[name] for name, one in module.named_parameters())


def test_what_such_a_backward_gives_without_arguments_is_all_that_is_told() -> None:
    with pytest.raises(AssertionError) as told:  # no gradient arrives where x needs none, or by torch.autograd.grad
        check_function(Reentrant(), x=torch.randn(2, 3, dtype=torch.float64, requires_grad=True))
    report = str(told.value)
    assert "alone gets a gradient" in report
    assert not any(words in report for words in ("second-order", "called again", "detached"))
