"""Classes that keep their gradients as most do, and are made otherwise: with a name, or from arrays alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.engines.dialects.sound import Tensor


class Named(Tensor):
    """What it is called comes first."""

    def __init__(self, name: str, value: Any, parents: Any = (), rule: Any = None) -> None:
        assert isinstance(name, str)
        super().__init__(value, parents, rule)
        self.name = name

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        return type(self)("made", data, parents, rule)


class Bare:
    """Whatever it is given it keeps, and asks that for its shape."""

    def __init__(self, data: Any, makers: Any = ()) -> None:
        self.data, self.makers, self.grad = data, makers, None

    @property
    def shape(self) -> Any:
        return self.data.shape

    def __add__(self, other: Bare) -> Bare:
        return Bare(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: Bare) -> Bare:
        return Bare(self.data * other.data, ((self, other.data), (other, self.data)))

    def sum(self) -> Bare:
        return Bare(self.data.sum(), ((self, np.ones(self.shape)),))

    def backward(self, gradient: Any) -> None:
        self.grad = gradient if self.grad is None else self.grad + gradient
        assert np.shape(self.grad) == self.shape
        for maker, factor in self.makers:
            maker.backward(gradient * factor)

    def zero_grad(self) -> None:
        """What it was made of is forgotten as well."""
        self.grad, self.makers = None, ()
