"""Engines that differentiate functions: what a case computes is noted, and computed again while the library watches.

HIPS autograd and JAX have no tensors that keep gradients: they turn a function into its derivative. So the ops of a
graph run on plain arrays first and are noted; a backward pass hands the library the function that replays them. Its
arguments are the leaves, and a zero for every named tensor, which is added to it: the derivative with respect to that
zero is the tensor's gradient. Accumulating gradients from pass to pass is done here, for these libraries have no word
for it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.engines.tensor_class.api import Style
from gradcheck.engines.tensor_class.call_forms import Form, Library
from gradcheck.engines.tensor_class.capabilities import UNKNOWN
from gradcheck.engines.tensor_class.engine import Duck
from gradcheck.engines.tensor_class.errors import translating
from gradcheck.engines.tensor_class.wrapper import Held, tensors_in
from gradcheck.errors import NoGradRequired, NonScalarBackward, Unsupported

#: A replayed call: the result, the form, the arguments, and the shape for ops that are asked for by it.
Call = tuple[Held, Op, Form, tuple[Any, ...], tuple[int, ...]]


class Functional(Duck):
    """A library that differentiates functions of arrays."""

    def __init__(self, name: str, array: Callable[[Any], Any], kinds: tuple[type, ...], modules: Sequence[Any]) -> None:
        style = _Arrays(array, name, tensor_type=kinds[0], flag="none is needed")
        style.kinds = kinds
        super().__init__(style, Library(tuple(modules), methods=False), name, UNKNOWN)
        self._calls: list[Call] = []
        self._probed: list[Held] = []
        self._arrived: dict[Held, np.ndarray] = {}

    @abstractmethod
    def derivatives(self, function: Callable[..., Any], arguments: list[np.ndarray]) -> Sequence[Any]:
        """The gradient of a function of arrays to one number, for each of its arguments."""

    # A tape -------------------------------------------------------------------------------------

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """As any tape does, from an empty record."""
        self._forget()
        return super().evaluate(*args, **kwargs)

    def _forget(self) -> None:
        self._calls, self._probed, self._arrived = [], [], {}

    def _pull_back_one(self, *args: Any, **kwargs: Any) -> Any:
        self._forget()
        return super()._pull_back_one(*args, **kwargs)

    def _called(self, op: Op, form: Form, bound: tuple[Any, ...], shape: tuple[int, ...], result: Any) -> Held:
        """What the library returned, and a note of how it came about."""
        held = list(tensors_in(bound))
        values = self.read(result)
        if values is None:
            raise Unsupported(f"its {op.name} returned no array but a {type(result).__name__}", lacks=op.name)
        made = self._held(result, values, any(tensor.requires_grad for tensor in held))
        self._calls.append((made, op, form, bound, shape))
        return made

    def _leaf(self, array: np.ndarray, requires_grad: bool) -> Held:
        made = super()._leaf(array, requires_grad)
        if requires_grad:
            self._probed.append(made)
        return made

    def retain(self, held: Held) -> None:
        """A named tensor; its gradient is wanted."""
        self._probed.append(held)

    def gradient(self, held: Held) -> np.ndarray | None:
        found = self._arrived.get(held)
        return None if found is None else found.copy()

    def set_gradient(self, held: Held, gradient: Any) -> None:
        if gradient is None:
            self._arrived.pop(held, None)
        else:
            self._arrived[held] = np.array(gradient)

    def rehearse(self, form: Form, given: list[Any], shape: tuple[int, ...]) -> None:
        """A form that computes may still be one that the library cannot differentiate."""
        found = [value for value in _flat(given) if self._differentiates(value)]
        if not found:
            return
        add_up = self.library.function("sum")

        def total(*values: Any) -> Any:
            traced = iter(values)

            def replaced(value: Any) -> Any:
                if isinstance(value, (list, tuple)):
                    return type(value)([replaced(item) for item in value])
                return next(traced) if self._differentiates(value) else value

            result = form.call([replaced(value) for value in given], shape)
            if isinstance(result, np.ndarray) and result.dtype == object:
                raise TypeError("it makes an array of the library's own boxes")
            return add_up(result)

        self.derivatives(total, [np.asarray(value) for value in found])

    def _differentiates(self, value: Any) -> bool:
        return self.style.is_tensor(value) and value.dtype.kind == "f"

    # Passes -------------------------------------------------------------------------------------

    def backward(self, roots: list[Held], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """The derivative of the sum of roots times gradients, with respect to all that has a name."""
        if not retain_graph:
            raise Unsupported(f"{self.name} has no graph that could be freed", lacks="retain_graph")
        for root, seed in zip(roots, seeds, strict=True):
            if not root.requires_grad:
                raise NoGradRequired("a backward pass from a tensor that requires no gradient")
            if seed is None and root.array.size != 1:
                raise NonScalarBackward("a backward pass without a gradient from a tensor of several elements")
        needed, probed = self._needed(roots)
        leaves = {held: index for index, held in enumerate(probed)}
        made = {call[0] for call in needed}
        starts = [np.zeros_like(held.array) if held in made else np.array(held.array) for held in probed]

        def total(*values: Any) -> Any:
            known: dict[Held, Any] = {held: values[i] for held, i in leaves.items() if held not in made}
            for held, op, form, bound, shape in needed:
                result = form.call([self._replayed(op, value, known) for value in bound], shape)
                known[held] = result + values[leaves[held]] if held in leaves else result
            return self._sum([known[root] for root in roots], roots, seeds)

        with translating(f"{self.name}'s backward pass"):
            gradients = [np.asarray(gradient) for gradient in self.derivatives(total, starts)]
        for held, gradient in zip(probed, gradients, strict=True):
            before = self._arrived.get(held)
            self._arrived[held] = gradient if before is None else before + gradient

    def _needed(self, roots: list[Held]) -> tuple[list[Call], list[Held]]:
        """The calls that lead to the roots, in order, and the named tensors among them and their leaves."""
        wanted = set(roots)
        needed: list[Call] = []
        for call in reversed(self._calls):
            if call[0] in wanted and call[0].requires_grad:
                needed.append(call)
                wanted.update(tensors_in(call[3]))
        probed = [held for held in dict.fromkeys(self._probed) if held in wanted and held.requires_grad]
        return needed[::-1], probed

    def _replayed(self, op: Op, value: Any, known: dict[Held, Any]) -> Any:
        if type(value) is Held and value in known:
            return known[value]
        if isinstance(value, (list, tuple)):
            return type(value)([self._replayed(op, item, known) for item in value])
        return self.native(op, value, False)

    def _sum(self, values: list[Any], roots: list[Held], seeds: list[np.ndarray | None]) -> Any:
        add_up = self.library.function("sum")
        terms = [
            value.reshape(()) if seed is None else add_up(value * seed.astype(root.dtype))
            for value, root, seed in zip(values, roots, seeds, strict=True)
        ]
        result = terms[0]
        for term in terms[1:]:
            result = result + term
        return result


def _flat(values: Sequence[Any]) -> list[Any]:
    """The arguments, and the items of those that are lists."""
    found: list[Any] = []
    for value in values:
        found += _flat(value) if isinstance(value, (list, tuple)) else [value]
    return found


class _Arrays(Style):
    """Arrays that are nobody's tensors."""

    kinds: tuple[type, ...]

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        if array.dtype.kind == "c":
            raise Unsupported("complex gradients follow another convention here", lacks=array.dtype.name)
        if array.dtype.kind != "f":
            raise Unsupported(f"numbers of {array.dtype} are not what it differentiates", lacks=array.dtype.name)
        return self.kind(array.copy())

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.kinds)

    def read(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor)

    def gradient(self, tensor: Any) -> Any:
        return None
