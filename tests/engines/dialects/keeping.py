"""Classes that keep their gradients as most do, and are made, or kept, otherwise: with a name, from arrays alone, in
arrays of somebody's own, in single precision."""

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


class Labelled(Tensor):
    """It takes anything for its label, and may get its numbers later."""

    def __init__(self, name: Any, value: Any = 0.0, parents: Any = (), rule: Any = None) -> None:
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


class Conjured(Tensor):
    """Whoever asks for a gradient before there is one gets one, and it stays."""

    _grad: Any = None

    @property
    def grad(self) -> Any:
        if self._grad is None:
            self._grad = np.full(self.data.shape, 7.0)
        return self._grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._grad = gradient

    def receive(self, gradient: Any) -> None:
        self._grad = gradient if self._grad is None else self._grad + gradient


class Grid:
    """Rows of numbers, without NumPy."""

    def __init__(self, rows: Any) -> None:
        assert not isinstance(rows, np.ndarray)
        self.rows = rows
        shape = []
        while isinstance(rows, list):
            shape.append(len(rows))
            rows = rows[0]
        self.shape = tuple(shape)

    def __getitem__(self, index: Any) -> Any:
        found = self.rows
        for one in index:
            found = found[one]
        return found

    def met(self, other: Grid, rule: Any) -> Grid:
        def of(a: Any, b: Any) -> Any:
            return [of(x, y) for x, y in zip(a, b, strict=True)] if isinstance(a, list) else rule(a, b)

        return Grid(of(self.rows, other.rows))

    def filled(self, number: Any) -> Grid:
        def of(a: Any) -> Any:
            return [of(x) for x in a] if isinstance(a, list) else number

        return Grid(of(self.rows))

    def total(self) -> Any:
        def of(a: Any) -> Any:
            return sum(map(of, a)) if isinstance(a, list) else a

        return of(self.rows)


class Gridded:
    """Its numbers are in grids, and so are its gradients."""

    def __init__(self, data: Any, makers: Any = ()) -> None:
        self.data = data if isinstance(data, Grid) else Grid(data)
        self.makers, self.grad = makers, self.data.filled(0.0)

    @property
    def shape(self) -> Any:
        return self.data.shape

    def __add__(self, other: Gridded) -> Gridded:
        return Gridded(self.data.met(other.data, lambda a, b: a + b), ((self, lambda g: g), (other, lambda g: g)))

    def __mul__(self, other: Gridded) -> Gridded:
        parts = ((self, lambda g: g.met(other.data, _times)), (other, lambda g: g.met(self.data, _times)))
        return Gridded(self.data.met(other.data, _times), parts)

    def sum(self) -> Gridded:
        return Gridded(self.data.total(), ((self, lambda g: self.data.filled(g.rows)),))

    def backward(self, gradient: Any = None) -> None:
        gradient = self.data.filled(1.0) if gradient is None else gradient
        self.grad = self.kept(gradient)
        for maker, rule in self.makers:
            maker.backward(rule(gradient))

    def kept(self, gradient: Grid) -> Grid:
        return self.grad.met(gradient, lambda a, b: a + b)


class Overwriting(Gridded):
    def __add__(self, other: Gridded) -> Any:
        return Overwriting(self.data.met(other.data, lambda a, b: a + b), ((self, lambda g: g), (other, lambda g: g)))

    def __mul__(self, other: Gridded) -> Any:
        made = super().__mul__(other)
        return Overwriting(made.data, made.makers)

    def kept(self, gradient: Grid) -> Grid:
        return gradient


def _times(a: float, b: float) -> float:
    return a * b


class Single:
    """A number in single precision."""

    def __init__(self, value: Any, makers: Any = ()) -> None:
        self.value, self.makers, self.grad = np.float32(value), makers, np.float32(0)

    def __add__(self, other: Any) -> Single:
        other = other if isinstance(other, Single) else Single(other)
        return Single(self.value + other.value, ((self, np.float32(1)), (other, np.float32(1))))

    def __mul__(self, other: Any) -> Single:
        other = other if isinstance(other, Single) else Single(other)
        return Single(self.value * other.value, ((self, other.value), (other, self.value)))

    def backward(self, gradient: Any = 1.0) -> None:
        self.grad = self.grad + np.float32(gradient)
        for maker, factor in self.makers:
            maker.backward(gradient * factor)


class SingleLater(Tensor):
    """Its gradients are in single precision, which shows once one is asked for; it is not made from single numbers."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        assert isinstance(data, (np.ndarray, list))
        super().__init__(data, parents, rule)

    @property
    def grad(self) -> Any:
        if self._grad is None:
            self._grad = np.zeros(self.data.shape, np.float32)
        return self._grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._grad = gradient

    def receive(self, gradient: Any) -> None:
        self.grad += gradient

    def lifted(self, other: Any) -> Any:
        return other if isinstance(other, Tensor) else self.new(np.asarray(other))

    def sum(self) -> Any:
        return self.new(np.asarray(self.data.sum()), (self,), lambda g: (np.broadcast_to(g, self.data.shape),))

    def backward(self) -> None:  # type: ignore[override]
        self.spread(np.ones(self.data.shape))
