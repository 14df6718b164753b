"""Layers on NumPy arrays as courses write them, each right, and wrong where `factor` is not 1."""

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.default_rng(0)


class Affine:
    """A course's layer: attributes `W` and `dW`."""

    factor = 1.0

    def __init__(self) -> None:
        self.W, self.b = RANDOM.standard_normal((3, 4)), RANDOM.standard_normal(4)
        self.x: Any = None
        self.dW: Any = None

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout: Any) -> Any:
        self.dW = self.factor * self.x.T @ dout
        self.db = dout.sum(0)
        return dout @ self.W.T


class InDicts(Affine):
    """One with dicts of parameters and gradients, which it adds to."""

    def __init__(self) -> None:
        self.params = {"W": RANDOM.standard_normal((3, 4)), "b": np.zeros(4)}
        self.grads = {"W": np.ones((3, 4)), "b": np.ones(4)}

    def __call__(self, x: Any) -> Any:
        return self.forward(x)

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.params["W"] + self.params["b"]

    def backward(self, dout: Any) -> Any:
        self.grads["W"] += self.factor * self.x.T @ dout
        self.grads["b"] += dout.sum(0)
        return dout @ self.params["W"].T


class InLists(Affine):
    """One with lists of both, whose gradients it writes in place."""

    def __init__(self) -> None:
        self.params = [RANDOM.standard_normal((3, 4))]
        self.grads = [np.zeros_like(self.params[0])]

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.params[0]

    def backward(self, dout: Any) -> Any:
        self.grads[0][...] = self.factor * self.x.T @ dout
        return dout @ self.params[0].T


class Parameter:
    """A value with its gradient."""

    def __init__(self, value: Any) -> None:
        self.value, self.grad = value, np.zeros_like(value)


class OfParameters(Affine):
    """One whose parameters are objects of their own."""

    def __init__(self) -> None:
        self.W = Parameter(RANDOM.standard_normal((3, 4)))

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.W.value

    def backward(self, dout: Any) -> Any:
        self.W.grad += self.factor * self.x.T @ dout
        return dout @ self.W.value.T


class OfDicts(Affine):
    """One whose parameters are dicts of a value and its gradient."""

    def __init__(self) -> None:
        self.w = {"val": RANDOM.standard_normal((3, 4)), "grad": 0}
        self.params = {"b": {"data": np.zeros(4), "grad": np.zeros(4)}}

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.w["val"] + self.params["b"]["data"]

    def backward(self, dout: Any) -> Any:
        self.w["grad"] = self.factor * self.x.T @ dout
        self.params["b"]["grad"] += dout.sum(0)
        return dout @ self.w["val"].T, self.w["grad"], self.params["b"]["grad"]


class StoresAll(Affine):
    """One that returns nothing: all is in attributes."""

    def forward(self, x: Any) -> Any:
        self.output = super().forward(x)

    def backward(self, dout: Any) -> Any:
        self.dx = super().backward(dout)


class ReturnsAll(Affine):
    """One that returns the gradients of its parameters behind that of its input."""

    def __init__(self) -> None:
        self.W, self.b = RANDOM.standard_normal((3, 4)), RANDOM.standard_normal(4)

    def backward(self, dout: Any) -> Any:
        return dout @ self.W.T, self.factor * self.x.T @ dout, dout.sum(0)


class ReturnsByName(ReturnsAll):
    """One that returns them by name."""

    def backward(self, dout: Any) -> Any:
        return {"x": dout @ self.W.T, "dW": self.factor * self.x.T @ dout, "db": dout.sum(0)}


class ReturnsList(ReturnsAll):
    """One that returns those of its parameters in a list."""

    def backward(self, dout: Any) -> Any:
        dx, dw, db = super().backward(dout)
        return dx, [dw, db]


class ReturnsMapping(ReturnsAll):
    """One that returns those of its parameters by name."""

    def backward(self, dout: Any) -> Any:
        dx, dw, db = super().backward(dout)
        return dx, {"W": dw, "b": db}


class OfLayers:
    """A network, whose layers have the parameters; it has their arrays, too."""

    def __init__(self, kind: type = Affine) -> None:
        self.layers = [kind()]
        self.weights = {"W1": self.layers[0].W}

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dout: Any) -> Any:
        for layer in reversed(self.layers):
            dout = layer.backward(dout)
        return dout


class Forgets(Affine):
    """One without a place for a gradient of its parameter."""

    def __init__(self) -> None:
        self.W = RANDOM.standard_normal((3, 4))

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.W

    def backward(self, dout: Any) -> Any:
        return dout @ self.W.T


def wrong(kind: type) -> type:
    """The layer with a wrong gradient of `W`."""
    return type(kind.__name__, (kind,), {"factor": 3.0})
