"""Parameters that layers keep in themselves, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.engines.implementation.layer_parameters import (
    arrays_of_object,
    gradient_names,
    layer_parameters,
    returned_names,
)
from tests.engines.implementation import layers


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (layers.Affine, ["W", "b"]),
        (layers.InDicts, ["W", "b"]),
        (layers.InLists, ["params_0"]),
        (layers.OfParameters, ["W"]),
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
