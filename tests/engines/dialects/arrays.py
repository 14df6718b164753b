"""Styles of classes that hold arrays: each differs from the sound one in what a library may choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.engines.dialects.sound import Tensor


class GivenTensors(Tensor):
    """Incoming gradients and gradients are tensors."""

    def backward(self, gradient: Any = None) -> None:
        self.spread(np.ones(self.data.shape) if gradient is None else gradient.data * 1.0)

    def receive(self, gradient: Any) -> None:
        self.grad = self.new(gradient if self.grad is None else self.grad.data + gradient)


class Assigned(Tensor):
    """The incoming gradient is put into the root's `grad` before the pass."""

    def backward(self, retain_grad: bool = False) -> None:
        seed, self.grad = np.ones(self.data.shape) if self.grad is None else self.grad, None
        self.spread(seed)


class Chained(Tensor):
    """Chainer's variables: a pass from several numbers wants its gradient assigned, intermediates keep theirs where it
    is told so, and a gradient is cleared by a method."""

    @property
    def array(self) -> Any:
        return self.data

    def cleargrad(self) -> None:
        self.grad = None

    def backward(self, retain_grad: bool = False) -> None:
        if self.grad is None and self.data.size != 1:
            raise ValueError("the gradient of a root of several elements has to be set")
        seed, self.grad = np.ones(self.data.shape) if self.grad is None else self.grad, None
        self.spread(seed)
        for tensor in self.order()[1:]:
            if tensor.parents and not retain_grad:
                tensor.cleargrad()


class Ones(Tensor):
    """A pass starts with ones, whatever its root; gradients begin as zeros and are added to in place."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        super().__init__(data, parents, rule)
        self.grad = np.zeros_like(self.data)

    def backward(self) -> None:  # type: ignore[override]
        self.spread(np.ones(self.data.shape))

    def receive(self, gradient: Any) -> None:
        self.grad += gradient


class TotalsOnly(Ones):
    """A pass starts from a single number alone."""

    def backward(self, last_node: bool = True) -> None:  # type: ignore[override]
        assert self.data.size == 1, "only scalars"
        super().backward()


class Single(Tensor):
    """All is in single precision."""

    dtype = np.float32


class HalfSingle(Tensor):
    """Gradients alone are in single precision."""

    def receive(self, gradient: Any) -> None:
        super().receive(np.asarray(gradient, np.float32))


class OneDimension(Tensor):
    """There are no tensors without dimensions."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        super().__init__(np.atleast_1d(data), parents, rule)

    def backward(self, gradient: Any = None) -> None:
        assert gradient is not None or self.data.shape == (1,)
        super().backward(gradient)


class BothTracked(Tensor):
    """Where one operand wants no gradient, none flows to the other."""

    def __init__(self, data: Any, autograd: bool = False, parents: Any = (), rule: Any = None) -> None:
        super().__init__(data, parents, rule)
        self.autograd = autograd

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        tracked = all(parent.autograd for parent in parents)
        return BothTracked(data, tracked, parents if tracked else (), rule)

    def lifted(self, other: Any) -> Any:
        assert other.data is not None  # numbers are refused
        return other


class LeavesOnly(Tensor):
    """Gradients are kept where they are wanted, and nowhere else. The flag comes second among those that may be it."""

    def __init__(
        self, data: Any, is_leaf: bool = True, requires_grad: bool = False, parents: Any = (), rule: Any = None
    ) -> None:
        super().__init__(data, parents, rule)
        self.is_leaf, self.requires_grad = is_leaf, requires_grad

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        return type(self)(data, False, any(parent.requires_grad for parent in parents), parents, rule)

    def receive(self, gradient: Any) -> None:
        if self.is_leaf and self.requires_grad:
            super().receive(gradient)


class ByKeyword(Tensor):
    """The incoming gradient is not the first parameter."""

    def backward(self, create_graph: bool = False, root: bool = True, grad: Any = None) -> None:  # type: ignore[override]
        assert create_graph is False
        assert root is True
        super().backward(grad)


class OnEachArrival(Tensor):
    """Recursive: what arrives is passed on at once, and alone."""

    def spread(self, seed: Any) -> None:
        self.receive(np.asarray(seed, self.dtype))
        for parent, part in zip(self.parents, self.rule(seed) if self.parents else (), strict=True):
            parent.spread(self.fit(np.asarray(part), parent.data.shape))


class SetOrdered(Tensor):
    """Parents are a set: in which order gradients are added up differs from run to run."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        super().__init__(data, parents, rule)
        self.previous = set(parents)

    def order(self) -> list[Any]:
        found: list[Any] = []
        seen: set[Any] = set()

        def visit(tensor: Any) -> None:
            if tensor not in seen:
                seen.add(tensor)
                for parent in tensor.previous:
                    visit(parent)
                found.append(tensor)

        visit(self)
        return found[::-1]


class Guarded(Tensor):
    """A gradient that has not arrived cannot be read, and none can be assigned."""

    @property
    def grad(self) -> Any:
        if self.hidden is None:
            raise ValueError("no gradient has arrived")
        return self.hidden

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            raise AttributeError("gradients are not assigned")
        self.hidden = None

    def receive(self, gradient: Any) -> None:
        self.hidden = gradient if self.hidden is None else self.hidden + gradient


class Lists(Tensor):
    """Made from lists alone."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        assert parents or isinstance(data, (list, float)), "lists only"
        super().__init__(data, parents, rule)


class ArraysOnly(Tensor):
    """Made from arrays alone."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        if not parents and not isinstance(data, np.ndarray):
            raise TypeError(f"{type(data)} is not supported")
        super().__init__(data, parents, rule)

    def lifted(self, other: Any) -> Any:
        return other if isinstance(other, Tensor) else self.new(np.array(other))


class Explicit(Tensor):
    """Nothing is broadcast unless it is asked for."""

    def lifted(self, other: Any) -> Any:
        other = super().lifted(other) if isinstance(other, Tensor) else self.new(np.full(self.data.shape, other))
        if other.data.shape != self.data.shape:
            raise NotImplementedError("shapes must be the same: use broadcast_to")
        return other

    def broadcast_to(self, shape: Any) -> Any:
        return self.new(np.broadcast_to(self.data, shape), (self,), lambda g: (g,))


class RootIsSet(Ones):
    """The root's own gradient is one, after any number of passes; it is an integer, too."""

    def receive(self, gradient: Any) -> None:
        self.grad = self.grad + gradient

    def backward(self) -> None:  # type: ignore[override]
        super().backward()
        self.grad = np.ones(self.data.shape, int)


class Parameter(Tensor):
    """What ops return is of other classes than what they are given."""

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        return Result(data, parents, rule)


class Result(Tensor):
    pass


class Axes(Tensor):
    """Dimensions are a tuple by another name; a number is taken at first, and refused in the pass."""

    def sum(self, axes: Any = None) -> Any:
        kept = self.data.sum(axis=axes, keepdims=True).shape

        def rule(g: Any) -> Any:
            assert axes is None or len(axes) > 0
            return (np.broadcast_to(g.reshape(kept), self.data.shape).copy(),)

        return self.new(self.data.sum(axis=axes), (self,), rule)


class ArraysAlone(Ones):
    """No array, no tensor: NumPy's products of single numbers are none. A sum is; a pass begins with ones."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        if not isinstance(data, np.ndarray):
            raise TypeError(f"an array is needed, and no {type(data).__name__}")
        super().__init__(data, parents, rule)

    def lifted(self, other: Any) -> Any:
        return other if isinstance(other, Tensor) else self.new(np.asarray(other))

    def fit(self, gradient: Any, shape: Any) -> Any:
        if np.ndim(gradient) > len(shape):
            raise ValueError("only dimensions of size 1 are undone")
        return super().fit(np.asarray(gradient), shape)

    def sum(self) -> Any:
        return self.new(np.array(self.data.sum()), (self,), lambda g: (np.broadcast_to(g, self.data.shape).copy(),))


class Interned(Tensor):
    """Equal expressions of the same tensors are one node, and all that is made of it has that node's gradient."""

    made: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        self.node = _Node()
        super().__init__(data, parents, rule)

    @property
    def grad(self) -> Any:
        return self.node.grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self.node.grad = gradient

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        found = type(self)(data, parents, rule)
        if rule is not None:
            key = (rule.__code__, *(parent.node for parent in parents))
            found.node = self.made.setdefault(key, found.node)
        return found


class _Node:
    """What a tensor stands for."""

    grad: Any = None


class MaskedByTensors(Tensor):
    """A mask is a tensor, and is asked for what only tensors have, in the backward pass at the earliest."""


def where(mask: Any, one: Any, other: Any) -> Any:
    """By the mask, whose gradient is none."""

    def rule(g: Any) -> Any:
        assert mask.grad is None
        return g * (mask.data != 0), g * (mask.data == 0)

    return one.new(np.where(getattr(mask, "data", mask), one.data, other.data), (one, other), rule)
