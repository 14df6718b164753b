"""Engines that hold one number a node: a tensor is an array of them, small cases are written out number by number."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.engines.tensor_class.calls import plain
from gradcheck.engines.tensor_class.engine import Duck
from gradcheck.engines.tensor_class.errors import translating
from gradcheck.engines.tensor_class.wrapper import Held, tensors_in
from gradcheck.errors import Unsupported

#: Tensors of more numbers than this, and products of more multiplications, are not written out.
MAX_NUMBERS, MAX_PRODUCTS = 4_096, 50_000

_FLOAT64 = np.dtype(np.float64)
#: Elementwise ops that only choose among their operands' elements.
_CHOICES = frozenset({"where"})
#: How NumPy's functions fail on objects that lack what they need.
_BEYOND = (TypeError, AttributeError, ValueError, NotImplementedError, AssertionError, IndexError, ArithmeticError)


class Grid(Duck):
    """Arrays of somebody's numbers. Elementwise ops go to each of them; products, sums and all rearranging are NumPy's
    own on arrays of objects, in terms of their `+` and `*`. Constants stay plain numbers."""

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Held:
        """An array of the engine's numbers; of plain ones where no gradient is wanted."""
        if not requires_grad:
            return Held(self, None, array)
        held = self._leaf(array, True)
        self._given.append((array, held))
        return held

    def _leaf(self, array: np.ndarray, requires_grad: bool) -> Held:
        if array.dtype != _FLOAT64:
            raise Unsupported(f"{self.style.name} holds one Python number, not {array.dtype}", lacks=array.dtype.name)
        self._check_size(array.size)
        objects = np.empty(array.shape, object)
        with translating(f"{self.style.name}(number)"):
            for index in np.ndindex(array.shape):
                objects[index] = self.style.make(array[index], requires_grad)
            initial = self.style.gradient(objects.flat[0]) if array.size else None
        return Held(self, objects, array.copy(), requires_grad, initial)

    def _check_size(self, size: int) -> None:
        if size > MAX_NUMBERS:
            raise Unsupported(f"{size:,} numbers are too many to be written out one by one", lacks="large tensors")

    # Gradients ----------------------------------------------------------------------------------

    def current(self, tensor: Held) -> np.ndarray:
        return tensor.array if tensor.tensor is None else self._values(tensor.tensor)

    def _values(self, objects: np.ndarray) -> np.ndarray:
        found = np.zeros(objects.shape)
        for index in np.ndindex(objects.shape):
            found[index] = self._number(objects[index])
        return found

    def _number(self, value: Any) -> float:
        return float(self.style.read(value).item() if self.style.is_tensor(value) else value)

    def gradient(self, held: Held) -> np.ndarray | None:
        """Of each number; None where none has any."""
        owner = held if held.probe is None else held.probe
        if owner.tensor is None or not owner.requires_grad:
            return None
        found, arrived = np.zeros(held.shape), False
        with translating("reading a gradient"):
            for index in np.ndindex(held.shape):
                value = owner.tensor[index]
                one = self.style.gradient_array(value) if self.style.is_tensor(value) else None
                if one is not None:
                    found[index], arrived = float(one.reshape(-1)[0]), True
        return found if arrived or not found.size else None

    def set_gradient(self, held: Held, gradient: Any) -> None:
        owner = held if held.probe is None else held.probe
        if owner.tensor is None:
            return
        with translating("setting a gradient"):
            for index in np.ndindex(held.shape):
                if self.style.is_tensor(owner.tensor[index]):
                    new = owner.initial if gradient is None else float(gradient[index])
                    self.style.set_gradient(owner.tensor[index], new, gradient is None)

    def retain(self, held: Held) -> None:
        """Numbers of its own, which no other named tensor shares, so that their gradients are this tensor's."""
        if held.tensor is None:
            return
        with translating("a multiplication by 1"):
            own = np.empty(held.shape, object)
            for index in np.ndindex(held.shape):
                value = held.tensor[index]
                own[index] = value * 1.0 if self.style.is_tensor(value) else self.style.make(np.array(value), True)
        held.tensor = own
        if not self.abilities.keeps_intermediates and held.probe is None:
            probe = self._leaf(np.zeros(held.shape), True)
            held.tensor = (held + probe).tensor
            held.probe = probe

    def backward(self, roots: list[Held], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """From the one number that a root is, or from the sum of all roots' numbers times their gradients."""
        self._refuse(roots, retain_graph)
        roots, _ = self._starts(roots, seeds)
        root = roots[0].tensor.reshape(-1)[0]
        if not self.style.is_tensor(root):
            raise Unsupported("a backward pass from a plain number", lacks="passes from constants")
        with translating("backward()"):
            self.style.backward(root)
        self._spent = True

    def _total(self, roots: list[Held], seeds: list[np.ndarray | None]) -> Held:
        with translating("the sum of roots times gradients"):
            terms = [
                value * (1.0 if seed is None else float(seed[index]))
                for root, seed in zip(roots, seeds, strict=True)
                for index, value in np.ndenumerate(root.tensor)
            ]
            if not terms:
                raise Unsupported("a backward pass from no numbers at all", lacks="empty tensors")
            while len(terms) > 1:  # a balanced tree: a chain might be too deep for an engine that recurses
                pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
                terms = pairs + terms[len(pairs) * 2 :]
        objects = np.empty((), object)
        objects[()] = terms[0]
        return self._gathered(objects)

    def _gathered(self, objects: np.ndarray) -> Held:
        """The numbers as one tensor."""
        self._check_size(objects.size)
        with translating("reading values"):
            values = self._values(objects)
            fresh = self.style.gradient(self.style.make(np.array(0.0), True))
        return Held(self, objects, values, True, fresh)

    # Ops ----------------------------------------------------------------------------------------

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """An op on arrays of numbers. Raises Unsupported where the engine's numbers cannot express it."""
        self._spent = False
        held = list(tensors_in(bound))
        if op.name == "detach":
            return Held(self, None, bound[0].array)
        if all(tensor.tensor is None for tensor in held) or not (op.composite or any(op.rules)):
            return self._by_numpy(op, bound)
        if op.name in ("to", "double", "type", "type_as"):
            return self._cast(op, bound)
        if op.composite:
            return self._otherwise(op, bound, Unsupported(f"it has no {op.name}", lacks=op.name))
        if op.elementwise and op.name not in _CHOICES:
            return self._elementwise(op, bound)
        return self._structural(op, bound)

    def _elementwise(self, op: Op, bound: tuple[Any, ...]) -> Any:
        count = len(op.rules)
        operands = [_objects(value) for value in bound[:count]]
        try:
            shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        except ValueError as error:
            raise Unsupported(f"single numbers have no shapes: {error}", lacks="shapes") from error
        self._check_size(prod(shape))
        if not prod(shape):
            return self._gathered(np.empty(shape, object))
        operands = [np.broadcast_to(operand, shape) for operand in operands]
        first = [self._scalar(operand.reshape(-1)[0]) for operand in operands]
        try:
            form = self._speaker.form(op, (*first, *bound[count:]))
        except Unsupported as lacking:
            return self._otherwise(op, bound, lacking)
        result = np.empty(shape, object)
        with translating(f"its {form.label}"):
            for index in np.ndindex(shape):
                result[index] = form.call([*(operand[index] for operand in operands), *bound[count:]], ())
        return self._gathered(result)

    def _scalar(self, value: Any) -> Any:
        """One number of an operand, as the speaker takes it."""
        if not self.style.is_tensor(value):
            return value
        return Held(self, value, np.array(self._number(value)), True)

    def _structural(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """By the op's own NumPy forward, on arrays of objects."""
        if op.name in ("matmul", "einsum", "tensordot"):
            self._check_product(bound)
        values = [_objects(v) if type(v) is Held and v.dtype.kind == "f" else _listed(v) for v in bound]
        expected = op.compute([plain(value) for value in bound])
        try:
            result = op.forward(*values)
        except RecursionError:
            raise
        except _BEYOND as error:
            lacking = Unsupported(f"{op.name} cannot be written in its numbers: {error}", lacks=op.name)
            return self._otherwise(op, bound, lacking)
        objects = np.empty(np.shape(expected), object)
        if np.shape(result) != objects.shape:
            raise Unsupported(f"{op.name} cannot be written in its numbers", lacks=op.name)
        objects[...] = result
        return self._gathered(objects)

    def _check_product(self, bound: Sequence[Any]) -> None:
        sizes = [tensor.array.size for tensor in tensors_in(bound)]
        last = max((tensor.shape[-1] for tensor in tensors_in(bound) if tensor.ndim), default=1)
        if max(sizes, default=0) * last > MAX_PRODUCTS:
            raise Unsupported("the product is too large to be written out", lacks="large tensors")

    def native(self, op: Op, value: Any, fresh: bool) -> Any:
        """Single numbers, for the speaker."""
        if type(value) is Held:
            return value.tensor if not fresh else self.style.make(value.array, True)
        if isinstance(value, np.ndarray):
            return self.style.make(value, True) if dtypes.is_differentiable(value.dtype) else value.item()
        return value

    def read(self, result: Any) -> np.ndarray | None:
        return np.asarray(self._number(result)) if self.style.is_tensor(result) else None


def _objects(value: Any) -> np.ndarray:
    """An operand as an array of objects: the engine's numbers, or plain ones."""
    if type(value) is Held:
        return value.tensor if value.tensor is not None else value.array.astype(object)
    return np.asarray(value).astype(object)


def _listed(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_objects(v) if type(v) is Held and v.dtype.kind == "f" else _listed(v) for v in value])
    return value.array if type(value) is Held else value
