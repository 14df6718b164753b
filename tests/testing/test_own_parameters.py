"""Parameters of modules are operands of `check_function`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.testing import check_function
from gradcheck.testing.own_parameters import own_parameters
from tests.engines.implementation import layers


class Linear(torch.autograd.Function):
    factor = 1

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @classmethod
    def backward(cls, ctx: Any, g: torch.Tensor) -> Any:
        x, w = ctx.saved_tensors
        return g @ w, cls.factor * g.t() @ x


class Doubled(Linear):
    factor = 2


class Layer(torch.nn.Module):
    def __init__(self, function: Any = Linear) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.randn(5, 3))
        self.bias = torch.nn.Parameter(torch.randn(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function.apply(x, self.weight) + self.bias  # type: ignore[no-any-return]


X = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
WAYS: dict[str, Callable[[Layer], None]] = {
    "a shape": lambda layer: check_function(layer, x=(4, 3)) and None,
    "a tensor": lambda layer: check_function(layer, x=X) and None,
    "given": lambda layer: check_function(layer, x=(4, 3), weight=(5, 3)) and None,
    "inside": lambda layer: check_function(torch.nn.Sequential(torch.nn.Tanh(), layer), x=(4, 3)) and None,
    "mentioned": lambda layer: check_function(lambda x: layer(x), x=(4, 3)) and None,
    "a method": lambda layer: check_function(layer.forward, x=(4, 3)) and None,
    "specified": lambda layer: check_function(layer, x=(4, 3), spec="x @ weight.T + bias") and None,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_parameters_gradient_is_checked(way: str) -> None:
    WAYS[way](Layer())
    with pytest.raises(AssertionError, match=r"gradient of (module_1_)?weight: .* differs"):
        WAYS[way](Layer(Doubled))


def test_parameters_are_contiguous_where_inputs_are_not() -> None:
    """torch's batch norm computes other numbers with a weight that is not."""
    check_function(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)), x=(4, 2))


def test_so_is_that_of_a_module_among_the_arguments() -> None:
    for wrong, right in (
        (lambda: check_function(lambda m, x: m(x), m=Layer(Doubled).double(), x=X), Layer().double()),
        (lambda: check_function(lambda m, x: m[0](x), m=[Layer(Doubled).double()], x=X), [Layer().double()]),
    ):
        with pytest.raises(AssertionError, match=r"gradient of weight: .* differs"):
            wrong()
        check_function(lambda m, x: (m[0] if isinstance(m, list) else m)(x), m=right, x=X)


KINDS = [
    layers.Affine,
    layers.InDicts,
    layers.InLists,
    layers.OfParameters,
    layers.StoresAll,
    layers.ReturnsAll,
    layers.ReturnsByName,
    layers.ReturnsList,
    layers.ReturnsMapping,
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_layers_own_gradients_are_checked(kind: type) -> None:
    check_function(kind(), x=(2, 3))
    with pytest.raises(AssertionError, match=r"gradient of (W|params_0): .* differs"):
        check_function(layers.wrong(kind)(), x=(2, 3))


class Doubles:
    """A layer without parameters that returns an empty list of their gradients."""

    def forward(self, x: Any, factor: float = 1.0, save: bool = False) -> Any:
        self.factor = factor if save else None
        return factor * x

    def backward(self, dout: Any) -> Any:
        return dout * self.factor, []


def test_a_layer_without_parameters_may_return_an_empty_list() -> None:
    layer = Doubles()
    check_function(partial(layer.forward, factor=3.0, save=True), layer.backward, x=(2, 3), spec="3 * x")


def test_a_method_in_a_partial_is_one_of_its_layer() -> None:
    for kind in (layers.Affine, layers.wrong(layers.Affine)):
        layer = kind()
        layer.forward(np.ones((2, 3)))
        forward, backward = partial(layer.forward), partial(layer.backward)
        if kind is layers.Affine:
            check_function(forward, backward, x=(2, 3), spec="x @ W + b")
        else:
            with pytest.raises(AssertionError, match=r"gradient of W: .* differs"):
                check_function(forward, backward, x=(2, 3))


def test_so_are_those_of_layers_inside_of_a_layer() -> None:
    check_function(layers.OfLayers(), x=(2, 3))
    with pytest.raises(AssertionError, match=r"gradient of (W1|layers_0_W): .* differs"):
        check_function(layers.OfLayers(layers.wrong(layers.Affine)), x=(2, 3))


def test_a_layer_is_compared_with_a_specification() -> None:
    layer = layers.Affine()
    check_function(layer, x=(2, 3), spec="x @ W + b")
    check_function(layer.forward, layer.backward, x=(2, 3), W=(3, 4), b=(4,), spec="x @ W + b")
    with pytest.raises(AssertionError, match=r"gradient of W: .* differs from torch"):
        check_function(layers.wrong(layers.Affine), x=(2, 3), spec="x @ W + b")


def test_a_layers_parameter_without_a_gradient_is_named() -> None:
    found = check_function(layers.Forgets(), x=(2, 3))
    notes = [note for c in found.cases[0].comparisons for note in c.notes if note.kind == "parameters_unchecked"]
    assert [note["names"] for note in notes] == [("W",)]


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("is_flat", [False, True])
def test_a_pair_may_take_a_dict_of_parameters(factor: int, is_flat: bool) -> None:
    def forward(x: Any, params: Any) -> Any:
        return x @ params["W"] + params["b"], (x, params)

    def backward(dout: Any, cache: Any) -> Any:
        x, params = cache
        dx, grads = dout @ params["W"].T, {"dW": factor * x.T @ dout, "db": dout.sum(0)}
        return {"dx": dx, **grads} if is_flat else (dx, grads)

    params = {"W": layers.RANDOM.standard_normal((3, 4)), "b": np.zeros(4)}
    if factor == 1:
        check_function(forward, backward, x=np.ones((2, 3)), params=params)
        return
    with pytest.raises(AssertionError, match=r"gradient of params_W: .* differs"):
        check_function(forward, backward, x=np.ones((2, 3)), params=params)


def test_a_backward_that_changes_a_parameter_fails() -> None:
    class Learns(layers.Affine):
        def backward(self, dout: Any) -> Any:
            found = super().backward(dout)
            self.W -= 0.1 * self.dW
            return found

    with pytest.raises(AssertionError, match="changes its argument W in place"):
        check_function(Learns(), x=(2, 3))


def test_the_module_stays_as_it_was() -> None:
    layer = Layer()
    before = layer.weight.detach().clone()
    check_function(layer, x=(4, 3))
    assert layer.weight.dtype is torch.float32
    assert torch.equal(layer.weight, before)


def test_one_that_the_specification_does_not_mention_is_named() -> None:
    found = check_function(torch.nn.LayerNorm(3), x=(4, 3), spec="F.layer_norm(x, [3])")
    notes = [note for c in found.cases[0].comparisons for note in c.notes if note.kind == "parameters_unchecked"]
    assert [note["names"] for note in notes] == [("weight", "bias")]


def test_parameters_are_at_least_as_precise_as_what_is_given() -> None:
    code = code_of(Layer(), None, "layer")
    assert own_parameters(code, {"x": (4, 3)}, None)["weight"].dtype == np.float64
    assert own_parameters(code, {"x": X}, None)["weight"].dtype == np.float64
    assert own_parameters(code, {"x": X.detach().float()}, None)["weight"].dtype == np.float32
    assert set(own_parameters(code, {"x": (4, 3), "weight": (5, 3)}, None)) == {"bias"}
    assert set(own_parameters(code, {"x": (4, 3)}, "x @ weight.T")) == {"weight"}


class _NewScale:
    """A layer as its author makes it: its scale is 1, and its backward forgets it."""

    def __init__(self, is_right: bool) -> None:
        self.scale, self.dscale, self.is_right = np.ones(3), np.zeros(3), is_right

    def forward(self, x: Any) -> Any:
        self.x = x
        return self.x * self.scale

    def backward(self, g: Any) -> Any:
        self.dscale = (g * self.x).sum(0)
        return g * self.scale if self.is_right else g


def test_a_factor_of_1_is_moved() -> None:
    check_function(_NewScale(is_right=True), x=(4, 3))
    layer = _NewScale(is_right=False)
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(layer, x=(4, 3))
    assert np.all(layer.scale == 1)
