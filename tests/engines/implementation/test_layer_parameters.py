"""Parameters that layers keep in themselves, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.layer_parameters import (
    arrays_of_object,
    gradient_names,
    layer_parameters,
    returned_names,
)
from gradcheck.testing import check_function
from tests.engines.implementation import layers


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (layers.Affine, ["W", "b"]),
        (layers.InDicts, ["W", "b"]),
        (layers.InLists, ["params_0"]),
        (layers.OfParameters, ["W"]),
        (layers.OfDicts, ["w", "b"]),
    ],
)
def test_parameters_have_a_place_for_their_gradients(kind: type, names: list[str]) -> None:
    layer = kind()
    found = layer_parameters(layer)
    assert list(found.found) == names
    assert not found.unchecked
    one = found.found[names[0]]
    layer.forward(np.ones((2, 3)))
    one.clear(layer)
    layer.backward(np.ones((2, 4)))
    assert np.array_equal(one.gradient(layer), np.full((3, 4), 2.0))


def test_an_array_that_stands_in_two_places_is_one_parameter() -> None:
    network = layers.OfLayers()
    found = layer_parameters(network)
    assert sorted(found.found) == ["W1", "layers_0_b"] or sorted(found.found) == ["layers_0_W", "layers_0_b"]
    assert not found.unchecked
    name = next(name for name in found.found if "W" in name)
    found.found[name].value.put(network, np.zeros((3, 4)))
    assert not network.layers[0].W.any()
    assert not network.weights["W1"].any()


def test_what_a_forward_stores_is_no_parameter_and_what_has_no_place_is_named() -> None:
    layer = layers.Forgets()
    layer.forward(np.ones((2, 3)))
    found = layer_parameters(layer)
    assert not found.found
    assert list(found.unchecked) == ["W"]


def test_what_a_backward_returns_has_a_gradient() -> None:
    layer = layers.ReturnsAll()
    found = layer_parameters(layer)
    found.add_returned(returned_names(layer.backward), 1)
    assert list(found.found) == ["W", "b"]


def test_arrays_of_an_object_have_names() -> None:
    class Model:
        def __init__(self) -> None:
            self.w, self.n, self.parts = np.ones(2), np.arange(2), {"b": np.ones(3)}

        def __call__(self, x: Any) -> Any:
            return x

    assert arrays_of_object(Model()) == arrays_of_object(Model().__call__) == ("w", "parts.b")
    annotated = Model()
    annotated.__annotations__ = {"x": np.ndarray}  # as wrappers of annotated functions have
    assert arrays_of_object(annotated) == ("w", "parts.b")
    assert arrays_of_object(np.sin) == arrays_of_object(lambda x: x) == ()


def test_names_of_gradients() -> None:
    known = {"dW", "dw", "grad_W", "W_grad", "dLdW", "width", "W", "wd"}
    assert set(gradient_names("W", known)) == {"dW", "dw", "grad_W", "W_grad", "dLdW"}
    assert gradient_names("W", {"dw", "dW"})[0] == "dW"


class Tensors:
    """A layer on torch's tensors that keeps gradients in attributes."""

    factor = 1.0

    def __init__(self) -> None:
        self.weight, self.bias = torch.randn(2, 1), torch.nn.Parameter(torch.randn(1))

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.weight + self.bias

    def backward(self, g: Any) -> Any:
        self.store(self.factor * self.x.T @ g, g.sum(0))
        return g @ self.weight.T

    def store(self, dw: Any, db: Any) -> None:
        self.grad_weight, self.grad_bias = dw, db


class Adds(Tensors):
    def __init__(self) -> None:
        super().__init__()
        self.dW, self.db = torch.zeros(2, 1), torch.zeros(1)

    def store(self, dw: Any, db: Any) -> None:
        self.dW += dw
        self.db.add_(db)


class InTensors(Tensors):
    def store(self, dw: Any, db: Any) -> None:
        self.weight.grad, self.bias.grad = dw, db


class InTensorsOfModules(Tensors):
    def store(self, dw: Any, db: Any) -> None:
        self.weight.g = dw
        self.bias.g = db


class Stacked:
    def __init__(self) -> None:
        self.layers = [Adds(), Tensors()]
        self.layers[1].weight = torch.randn(1, 1)

    def forward(self, x: Any) -> Any:
        return self.layers[1].forward(self.layers[0].forward(x))

    def backward(self, g: Any) -> Any:
        return self.layers[0].backward(self.layers[1].backward(g))


class ForgetsBias(Tensors):
    def forward(self, x: Any) -> Any:
        self.x = x
        return torch.addmm(self.bias, x, self.weight)  # takes one dtype

    def store(self, dw: Any, db: Any) -> None:
        self.grad_weight = dw


@pytest.mark.parametrize(
    ("kind", "spec"),
    [(Tensors, None), (Tensors, "x @ weight + bias"), (Adds, None), (InTensors, None), (InTensorsOfModules, None)],
)
def test_layers_may_keep_tensors(kind: type, spec: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = kind()
    given = layer.weight.clone()
    passed = check_function(layer, x=torch.randn(3, 2), spec=spec)
    assert {"x", "weight", "bias"} <= {c.tensor for c in passed.cases[0].comparisons}
    assert torch.equal(layer.weight, given)
    monkeypatch.setattr(kind, "factor", 2.0)
    with pytest.raises(AssertionError, match="gradient of weight"):
        check_function(layer, x=torch.randn(3, 2), spec=spec)


def test_layers_of_tensors_may_be_nested_and_what_they_forget_is_named() -> None:
    passed = check_function(Stacked(), x=torch.randn(3, 2))
    assert {"layers_0_weight", "layers_1_bias"} <= {c.tensor for c in passed.cases[0].comparisons}
    passed = check_function(ForgetsBias(), x=(3, 2))
    assert ("bias",) in [dict(note.data).get("names") for c in passed.cases[0].comparisons for note in c.notes]


def test_gradients_of_tensors_take_the_dtype_of_the_check() -> None:
    check_function(Adds(), x=(3, 2), spec="x @ weight + bias", choices={"dtypes": ["float64", "bfloat16"]})


class Module(torch.nn.Module):
    """A module of torch with a backward by hand."""

    factor = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 1)
        self.register_buffer("scale", torch.full((1,), 1.5))

    def forward(self, x: Any) -> Any:
        self.x = x
        return self.linear(x) * self.scale

    def backward(self, g: Any) -> Any:
        g = g * self.scale
        self.linear.weight.grad, self.linear.bias.grad = self.factor * g.T @ self.x, g.sum(0)
        return g @ self.linear.weight


class Inherits(Module):
    factor = 2.0


def test_the_backward_of_a_module_by_hand_is_called() -> None:
    passed = check_function(Module(), x=torch.randn(3, 2))
    assert {"x", "linear_weight", "linear_bias"} <= {c.tensor for c in passed.cases[0].comparisons}
    with pytest.raises(AssertionError, match="gradient of linear_weight"):
        check_function(Inherits(), x=torch.randn(3, 2))


class Running:
    """Running statistics in a dict, and a gradient under a name of its own."""

    def __init__(self) -> None:
        self.params, self.grads = {"gamma": np.array([1.5, 0.5, 2.0])}, {"gamma": np.zeros(3)}
        self.running = {"mean": np.zeros(3)}

    def forward(self, x: Any, training: bool) -> None:
        self.running["mean"] = 0.9 * self.running["mean"] + 0.1 * x.mean(0)
        self.x, self.output = x, self.params["gamma"] * np.maximum(x, 0)

    def backward(self, dvalues: Any) -> None:
        self.grads["gamma"] = (dvalues * np.maximum(self.x, 0)).sum(0)
        self.dvalues = dvalues * self.params["gamma"]
        self.dvalues[self.x <= 0] = 0


def test_what_a_forward_assigns_in_a_dict_is_no_parameter() -> None:
    found = layer_parameters(Running())
    assert list(found.found) == ["gamma"]
    assert not found.unchecked


class WrongRunning(Running):
    """The same with twice the gradient of its input."""

    def backward(self, dvalues: Any) -> None:
        super().backward(dvalues)
        self.dvalues = 2 * self.dvalues


def test_the_only_array_that_a_backward_stores_is_the_gradient_of_the_input() -> None:
    check_function(Running(), x=(4, 3), training=True, spec="gamma * relu(x)")
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(WrongRunning(), x=(4, 3), training=True)
