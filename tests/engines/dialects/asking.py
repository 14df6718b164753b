"""Classes whose gradients are asked for: leaf by leaf, of a function, of the root, or of the leaf itself."""

from __future__ import annotations

from typing import Any

import numpy as np


class Asks:
    """A number that knows what was made of it, and keeps what it has found out."""

    def __init__(self, value: float) -> None:
        self.value, self.made, self.adjoint_of_it = value, [], None  # type: ignore[var-annotated]

    def derivative(self) -> Any:
        if self.adjoint_of_it is None:
            self.adjoint_of_it = sum(local * one.derivative() for local, one in self.made)
        return self.adjoint_of_it

    def _into(self, made: Any, *parts: Any) -> Any:
        for one, local in parts:
            one.made.append((local, made))
        return made

    def __add__(self, other: Any) -> Any:
        return self._into(type(self)(self.value + other.value), (self, 1.0), (other, 1.0))

    def __mul__(self, other: Any) -> Any:
        return self._into(type(self)(self.value * other.value), (self, other.value), (other, self.value))


class Owns(Asks):
    """The same, as a property."""

    @property
    def grad(self) -> Any:
        return self.derivative()


class Unasked(Asks):
    """A root until it is used: its gradient is 1, and None from then on, until a method computes it."""

    def __init__(self, value: float) -> None:
        self.value, self.made, self.grad = value, [], 1.0  # type: ignore[var-annotated]

    def get_gradient(self) -> Any:
        if self.grad is None:
            self.grad = sum(local * one.get_gradient() for local, one in self.made)
        return self.grad

    def _into(self, made: Any, *parts: Any) -> Any:
        for one, _ in parts:
            one.grad = None
        return super()._into(made, *parts)

    derivative = None  # type: ignore[assignment]


class Private(Unasked):
    """The same, as a property over an attribute."""

    def __init__(self, value: float) -> None:
        self.value, self.made, self._grad = value, [], 1.0  # type: ignore[var-annotated]

    @property
    def grad(self) -> Any:  # type: ignore[override]
        if self._grad is None:
            self._grad = sum(local * one.grad for local, one in self.made)
        return self._grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._grad = gradient

    get_gradient = None  # type: ignore[assignment]


class Forgets(Asks):
    """With the last use in place of all of them."""

    def derivative(self) -> Any:
        if self.adjoint_of_it is None:
            self.adjoint_of_it = sum(local * one.derivative() for local, one in self.made[-1:])
        return self.adjoint_of_it


class Collects:
    """A number whose gradient is that of all roots that it collects."""

    def __init__(self, value: float) -> None:
        self.value, self.uses, self.der = value, [], None  # type: ignore[var-annotated]

    def grad(self, roots: Any) -> Any:
        if not self.uses:
            roots.append(self)
        self.der = sum(local * one.grad(roots) for local, one in self.uses) if self.uses else 1.0
        return self.der

    def _into(self, value: Any, *parts: Any) -> Any:
        made = type(self)(value)
        for one, local in parts:
            one.uses.append((local, made))
        return made

    def __add__(self, other: Any) -> Any:
        return self._into(self.value + other.value, (self, 1.0), (other, 1.0))

    def __mul__(self, other: Any) -> Any:
        return self._into(self.value * other.value, (self, other.value), (other, self.value))

    def __truediv__(self, other: Any) -> Any:
        if other.value == 0:
            raise ZeroDivisionError
        return self._into(
            self.value / other.value, (self, 1 / other.value), (other, -self.value / (other.value * other.value))
        )


class Sums:
    """A number with a gradient that is 1, whatever is computed: no pass."""

    def __init__(self, value: float) -> None:
        self.value = value

    def gradient(self, leaves: Any) -> Any:
        return 1.0

    def __add__(self, other: Any) -> Any:
        return type(self)(self.value + other.value)

    def __mul__(self, other: Any) -> Any:
        return type(self)(self.value * other.value)


class Arrays:
    """Arrays that know what they were made of."""

    def __init__(self, value: Any, makers: Any = ()) -> None:
        self.value, self.makers = np.asarray(value, float), makers

    @property
    def shape(self) -> Any:
        return self.value.shape

    def __add__(self, other: Any) -> Any:
        return type(self)(self.value + other.value, ((self, lambda g: g), (other, lambda g: g)))

    def __mul__(self, other: Any) -> Any:
        return type(self)(
            self.value * other.value, ((self, lambda g: g * other.value), (other, lambda g: g * self.value))
        )

    def sum(self) -> Any:
        return type(self)(self.value.sum(), ((self, lambda g: np.full(self.shape, g)),))

    def joined(self, so_far: Any, part: Any) -> Any:
        return so_far + part

    def parts(self, incoming: Any) -> dict[int, Any]:
        found = {id(self): np.ones(self.shape) if incoming is None else incoming}
        for one in _sorted(self):
            for maker, rule in one.makers:
                part = rule(found[id(one)])
                found[id(maker)] = one.joined(found[id(maker)], part) if id(maker) in found else part
        return found


def _sorted(root: Any) -> list[Any]:
    """Every one before what it was made of."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting = [(root, False)]
    while waiting:
        one, is_done = waiting.pop()
        if is_done:
            found.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            waiting += [(one, True), *((maker, False) for maker, _ in one.makers)]
    return found[::-1]


class Listed(Arrays):
    """`gradients_of` takes the root and a list, and refuses what the root was not made of."""


class OneByOne(Arrays):
    """The root is asked for one."""

    def grad_wrt(self, leaf: Arrays) -> Any:
        return self.parts(None)[id(leaf)]


class Overwriting(OneByOne):
    def joined(self, so_far: Any, part: Any) -> Any:
        return part


class Calculated(Arrays):
    """`calcGradients` leaves gradients on all."""

    def __init__(self, value: Any, makers: Any = ()) -> None:
        super().__init__(value, makers)
        self.grad = np.zeros(self.shape)


def gradients_of(root: Listed, leaves: list[Listed], incoming: Any = None) -> list[Any]:
    found = root.parts(incoming)
    return [found[id(leaf)] for leaf in leaves]


def calcGradients(root: Calculated) -> None:  # noqa: N802 - as people call it
    found = root.parts(None)
    for one in _sorted(root):
        one.grad = one.grad + found[id(one)]


class TwoModes:
    """A number with a derivative of its own, and another that a leaf's method finds and keeps."""

    def __init__(self, value: float, der: float = 1.0) -> None:
        self.value, self.der, self.made, self.rder = value, der, [], None  # type: ignore[var-annotated]

    def revder(self) -> Any:
        if self.rder is None:
            self.rder = sum(local * one.revder() for local, one in self.made)
        return self.rder

    def __add__(self, other: Any) -> Any:
        return self._into(TwoModes(self.value + other.value, self.der + other.der), (self, 1.0), (other, 1.0))

    def __mul__(self, other: Any) -> Any:
        other = other if isinstance(other, TwoModes) else TwoModes(other, 0.0)
        made = TwoModes(self.value * other.value, self.der * other.value + self.value * other.der)
        return self._into(made, (self, other.value), (other, self.value))

    def _into(self, made: Any, *parts: Any) -> Any:
        for one, local in parts:
            one.made.append((local, made))
        return made


class TwoModesWrong(TwoModes):
    """The same, which sends half of a gradient on."""

    def revder(self) -> Any:
        if self.rder is None:
            self.rder = sum(local * one.revder() for local, one in self.made[:1])
        return self.rder
