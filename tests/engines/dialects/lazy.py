"""Classes of graphs that are computed only when they are told to be; what an op makes is of a class of its own."""

from __future__ import annotations

from typing import Any

import numpy as np


class Node:
    def __add__(self, other: Any) -> Any:
        return Add(self, other)

    def __mul__(self, other: Any) -> Any:
        return Mul(self, other)

    def sum(self) -> Any:
        return Sum(self)

    def numpy(self) -> Any:
        return self.forward()

    def receive(self, gradient: Any) -> None:
        self.grad = self.grad + gradient


class Tensor(Node):
    """A leaf: nothing else can be named."""

    def __init__(self, data: Any) -> None:
        self.data, self.grad = np.asarray(data, float), np.zeros(np.shape(data))

    def forward(self) -> Any:
        return self.data

    def backward(self, gradient: Any) -> None:
        self.receive(gradient)


class _Op(Node):
    """Without values, and so without anything to be passed on, before `forward`."""

    def __init__(self, *given: Any) -> None:
        self.given, self.grad = given, 0.0

    def forward(self) -> Any:
        self.data = self.computed(*(one.forward() for one in self.given))
        return self.data

    def backward(self, gradient: Any = 1.0) -> None:
        self.receive(gradient)
        for one, part in zip(self.given, self.parts(gradient), strict=True):
            one.backward(part)


class Add(_Op):
    def computed(self, a: Any, b: Any) -> Any:
        return a + b

    def parts(self, gradient: Any) -> Any:
        return gradient, gradient


class Mul(_Op):
    def computed(self, a: Any, b: Any) -> Any:
        return a * b

    def parts(self, gradient: Any) -> Any:
        a, b = self.given
        return gradient * b.data, gradient * a.data


class Sum(_Op):
    def computed(self, a: Any) -> Any:
        return a.sum()

    def parts(self, gradient: Any) -> Any:
        return (np.full(self.given[0].data.shape, gradient),)


class Buffered:
    """Its values are None until `realize()` computes them."""

    def __init__(self, data: Any = None, thunk: Any = None, parents: Any = ()) -> None:
        self.data = None if data is None else np.asarray(data, float)
        self.thunk, self.parents = thunk, parents
        self.grad: Any = None

    def realize(self) -> Any:
        if self.data is None:
            self.data = self.thunk()
        return self

    def __add__(self, other: Any) -> Any:
        return Buffered(
            thunk=lambda: self.realize().data + other.realize().data,
            parents=((self, lambda g: g), (other, lambda g: g)),
        )

    def __mul__(self, other: Any) -> Any:
        return Buffered(
            thunk=lambda: self.realize().data * other.realize().data,
            parents=((self, lambda g: g * other.data), (other, lambda g: g * self.data)),
        )

    def sum(self) -> Any:
        return Buffered(
            thunk=lambda: self.realize().data.sum(), parents=((self, lambda g: np.full(self.data.shape, g)),)
        )

    def receive(self, gradient: Any) -> None:
        self.grad = gradient if self.grad is None else self.grad + gradient

    def backward(self, gradient: Any = None) -> None:
        self.realize()
        gradient = np.ones(self.data.shape) if gradient is None else gradient
        self.receive(gradient)
        for parent, rule in self.parents:
            parent.backward(rule(gradient))


class Overwriting(Buffered):
    """With a disease: what arrives replaces what has arrived."""

    def __add__(self, other: Any) -> Any:
        return self.of(super().__add__(other))

    def __mul__(self, other: Any) -> Any:
        return self.of(super().__mul__(other))

    def sum(self) -> Any:
        return self.of(super().sum())

    def of(self, made: Buffered) -> Overwriting:
        return Overwriting(thunk=made.thunk, parents=made.parents)

    def receive(self, gradient: Any) -> None:
        self.grad = gradient


def prod(numbers: Any) -> Any:
    """A helper of the module's own, of an op's name, that gives a tensor back."""
    return np.prod(numbers) if isinstance(numbers, (list, tuple)) else numbers


# A leaf without a pass, and results that are computed by a call ------------------------------------


class Operand:
    """What can be added and multiplied."""

    data: Any = None
    grad: Any = None

    def __add__(self, other: Any) -> Any:
        return Computed(np.add, (self, other), lambda g, a, b: (g, g))

    def __mul__(self, other: Any) -> Any:
        return Computed(np.multiply, (self, other), lambda g, a, b: (g * b, g * a))

    def sum(self) -> Any:
        return Computed(np.sum, (self,), lambda g, a: (np.full(a.shape, g),))


class Leaf(Operand):
    """It has no `backward`."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data, float)

    def __call__(self) -> Any:
        return self.data


class Computed(Operand):
    def __init__(self, function: Any, operands: Any, rule: Any) -> None:
        self.function, self.operands, self.rule = function, operands, rule

    def __call__(self) -> Any:
        self.data = self.function(*(operand() for operand in self.operands))
        return self.data

    def backward(self) -> None:
        self()
        nodes: list[Any] = []
        _add_operands_first(self, nodes)
        self.grad = np.ones_like(self.data)
        for node in reversed(nodes):
            shares = node.rule(node.grad, *(operand.data for operand in node.operands))
            for operand, share in zip(node.operands, shares, strict=True):
                operand.grad = share if operand.grad is None else operand.grad + share


def _add_operands_first(node: Any, nodes: list[Any]) -> None:
    if isinstance(node, Computed) and node not in nodes:
        for operand in node.operands:
            _add_operands_first(operand, nodes)
        nodes.append(node)


class Unset(Leaf):
    """Its sums and products are not numbers until they are called."""

    def __add__(self, other: Any) -> Any:
        return _unset(super().__add__(other))

    def __mul__(self, other: Any) -> Any:
        return _unset(super().__mul__(other))


def _unset(node: Any) -> Any:
    node.data = float("nan")
    return node


class Expression:
    """Its own `derive` goes on; that of a leaf keeps what arrives in `partial`."""

    def __init__(self, *terms: Any) -> None:
        self.terms, self.value, self.partial = terms, None, 0.0

    def __add__(self, other: Any) -> Any:
        return Expression(self, other)

    def __mul__(self, other: Any) -> Any:
        return Product(self, other)

    def evaluate(self) -> None:
        for term in self.terms:
            term.evaluate()
        self.value = sum(term.value for term in self.terms)

    def derive(self, seed: float = 1.0) -> None:
        self.partial += seed
        for term in self.terms:
            term.derive(seed)


class Number(Expression):
    def __init__(self, value: float) -> None:
        self.value, self.partial = value, 0.0

    def evaluate(self) -> None: ...

    def derive(self, seed: float = 1.0) -> None:
        self.partial += seed


class Product(Expression):
    def evaluate(self) -> None:
        for term in self.terms:
            term.evaluate()
        self.value = self.terms[0].value * self.terms[1].value

    def derive(self, seed: float = 1.0) -> None:
        self.partial += seed
        self.terms[0].derive(seed * self.terms[1].value)
        self.terms[1].derive(seed * self.terms[0].value)
