"""Styles of classes that hold one number a node."""

from __future__ import annotations

import math
import random
from typing import Any


class Value:
    """Ops leave behind what has to be done; numbers are lifted."""

    def __init__(self, data: Any, children: Any = ()) -> None:
        self.data, self.grad, self.previous = data, 0.0, children
        self.step: Any = lambda: None

    def __add__(self, other: Any) -> Any:
        other = other if isinstance(other, Value) else type(self)(other)
        out = type(self)(self.data + other.data, (self, other))

        def step() -> None:
            self.receive(out.grad)
            other.receive(out.grad)

        out.step = step
        return out

    def __mul__(self, other: Any) -> Any:
        other = other if isinstance(other, Value) else type(self)(other)
        out = type(self)(self.data * other.data, (self, other))

        def step() -> None:
            self.receive(other.data * out.grad)
            other.receive(self.data * out.grad)

        out.step = step
        return out

    def tanh(self) -> Any:
        out = type(self)(math.tanh(self.data), (self,))

        def step() -> None:
            self.receive((1 - out.data**2) * out.grad)

        out.step = step
        return out

    def receive(self, gradient: float) -> None:
        self.grad += gradient

    def order(self) -> list[Any]:
        found: list[Any] = []
        seen: set[Any] = set()

        def visit(value: Any) -> None:
            if value not in seen:
                seen.add(value)
                for child in value.previous:
                    visit(child)
                found.append(value)

        visit(self)
        return found[::-1]

    def backward(self) -> None:
        self.grad = 1.0
        for value in self.order():
            value.step()

    __radd__, __rmul__ = __add__, __mul__


class Paired(Value):
    """A number knows its operands by name."""

    def __init__(self, data: Any, children: Any = ()) -> None:
        super().__init__(data, children)
        self.left, self.right = (*children, None, None)[:2]


class Planned(Value):
    """With a product of matrices that is still to be written: there it gives nothing."""

    def __matmul__(self, other: Any) -> Any:
        pass


class Shuffled(Value):
    """Operands are kept as in a set: one that is there twice once, and in another order each time."""

    chance = random.Random(1)

    def __init__(self, data: Any, children: Any = ()) -> None:
        once = list(dict.fromkeys(children))
        super().__init__(data, tuple(self.chance.sample(once, len(once))))


class Repeats(Value):
    """Wrong: nothing is noted of what has been visited, so that steps are taken again and again."""

    def order(self) -> list[Any]:
        found, waiting = [], [self]
        while waiting:
            found.append(waiting.pop())
            waiting += found[-1].previous
        return found


class Assigned(Value):
    """Wrong: what arrives replaces what has arrived."""

    def receive(self, gradient: float) -> None:
        self.grad = gradient


class Swapped(Value):
    """Wrong: each factor gets its own value for the other's."""

    def __mul__(self, other: Any) -> Any:
        out = super().__mul__(other)
        out.step = lambda: [one.receive(one.data * out.grad) for one in out.previous]
        return out

    __rmul__ = __mul__


class FirstCome(Value):
    """Wrong: values are taken in the order in which they are first met."""

    def order(self) -> list[Any]:
        found, seen = [self], {self}
        for value in found:
            new = [child for child in value.previous if child not in seen]
            seen |= set(new)
            found += new
        return found


class Var:
    """The number is `v`, operands must have one, and a gradient is passed on as it arrives."""

    def __init__(self, v: float, parents: Any = ()) -> None:
        assert type(v) is float
        self.v, self.parents, self.grad = v, parents, 0.0

    def backprop(self, share: float) -> None:
        self.grad += share
        for parent, factor in self.parents:
            parent.backprop(share * factor)

    def backward(self) -> None:
        self.backprop(1.0)

    def __add__(self, other: Any) -> Any:
        return type(self)(self.v + other.v, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other: Any) -> Any:
        return type(self)(self.v * other.v, [(self, other.v), (other, self.v)])


class Given(Var):
    """The incoming gradient must be given."""

    def backward(self, seed: float) -> None:  # type: ignore[override]
        self.backprop(seed)


class PassedOnTwice(Var):
    """Wrong: on each arrival all that has arrived so far is passed on."""

    def backprop(self, share: float) -> None:
        self.grad += share
        for parent, factor in self.parents:
            parent.backprop(self.grad * factor)
