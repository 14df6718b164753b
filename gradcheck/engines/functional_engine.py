"""The base of engines that differentiate functions: record, then replay.

HIPS autograd and JAX have no tensors that keep gradients: they turn a function into its derivative. So the ops of a
graph run on plain arrays first and are recorded; a backward pass gives the library the function that replays them.
Its arguments are the leaves, and a zero for every named tensor, which is added to it: the derivative with respect to
that zero is the tensor's gradient. Gradients are accumulated here, since these libraries do not accumulate.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.engines.recording import flat, map_nested
from gradcheck.engines.tensor_class.call_forms import CallForm, Library, Shape
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.engines.tensor_class.op_calls import OpCalls
from gradcheck.engines.tensor_class.user_code_guard import translate_errors
from gradcheck.engines.tensor_class.wrapped_tensor import LibraryCall, WrappedTensor, tensors_in
from gradcheck.errors import NoGradRequired, NonScalarBackward, Unsupported


class FunctionalEngine(ForeignEngine):
    """A library that differentiates functions of arrays."""

    def __init__(
        self, name: str, array_of: Callable[[Any], Any], array_types: tuple[type, ...], modules: Sequence[Any]
    ) -> None:
        """`array_of` makes arrays of `array_types`; `modules` have the functions."""
        super().__init__(name, name, Library(tuple(modules), methods=False))
        self._array_of, self._array_types = array_of, array_types
        self._calls = OpCalls(self)
        self.new_graph()

    @abstractmethod
    def derivatives(self, function: Callable[..., Any], arguments: list[np.ndarray]) -> Sequence[Any]:
        """Return the gradient of a scalar function for each of its arguments."""

    def new_graph(self) -> None:
        super().new_graph()
        self._record: list[LibraryCall] = []
        self._named: list[WrappedTensor] = []  # leaves, and results whose gradients are retained
        self._gradients: dict[WrappedTensor, np.ndarray] = {}

    # Tensors ------------------------------------------------------------------------------------

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        """Return an array of the library. Raises Unsupported for other dtypes."""
        if array.dtype.kind == "c":
            raise Unsupported("complex gradients follow another convention here", lacks=array.dtype.name)
        if array.dtype.kind != "f":
            raise Unsupported(f"numbers of {array.dtype} are not what it differentiates", lacks=array.dtype.name)
        return self._array_of(array.copy())

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self._array_types)

    def values(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        made = super().leaf(array, requires_grad)
        if requires_grad:
            self._named.append(made)
        return made

    def retain(self, tensor: WrappedTensor) -> None:
        self._named.append(tensor)

    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        found = self._gradients.get(tensor)
        return None if found is None else found.copy()

    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        if gradient is None:
            self._gradients.pop(tensor, None)
        else:
            self._gradients[tensor] = np.array(gradient)

    # Ops ----------------------------------------------------------------------------------------

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        return self._calls.apply(op, bound)

    def note_call(self, call: LibraryCall) -> None:
        super().note_call(call)
        if call.result is not None:
            self._record.append(call)

    def check_backward(self, form: CallForm, given: list[Any], shape: Shape, beyond: bool) -> None:
        """Raise if a form that computes cannot be differentiated by the library."""
        found = [value for value in flat(given) if self._differentiates(value)]
        if not found:
            return

        def total(*values: Any) -> Any:
            traced = iter(values)
            replaced = map_nested(given, lambda value: next(traced) if self._differentiates(value) else value)
            result = form.call(self.library, replaced, shape)
            if isinstance(result, np.ndarray) and result.dtype == object:
                raise TypeError("it makes an array of the library's own boxes")
            return self.library.function("sum")(result)

        self.derivatives(total, [np.asarray(value) for value in found])

    def _differentiates(self, value: Any) -> bool:
        return self.is_tensor(value) and value.dtype.kind == "f"

    # Passes -------------------------------------------------------------------------------------

    def backward(self, roots: list[WrappedTensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """Differentiate the sum of roots times incoming gradients."""
        if not retain_graph:
            raise Unsupported(f"{self.name} has no graph that could be freed", lacks="retain_graph")
        for root, seed in zip(roots, seeds, strict=True):
            if not root.requires_grad:
                raise NoGradRequired("a backward pass from a tensor that requires no gradient")
            if seed is None and root.array.size != 1:
                raise NonScalarBackward("a backward pass without a gradient from a tensor of several elements")
        calls, named = self._calls_leading_to(roots)
        results = {call.result for call in calls}
        position = {tensor: index for index, tensor in enumerate(named)}
        weights = [1 if seed is None else seed.astype(root.dtype) for root, seed in zip(roots, seeds, strict=True)]
        starts = [np.zeros_like(t.array) if t in results else np.array(t.array) for t in named]

        def total(*values: Any) -> Any:
            known = {tensor: values[i] for tensor, i in position.items() if tensor not in results}
            for call in calls:
                result = call.form.call(self.library, self._replayed(call, known), call.shape)
                zero = position.get(call.result)
                known[call.result] = result if zero is None else result + values[zero]
            return self._inner(weights, [known[root] for root in roots])

        with translate_errors(f"{self.name}'s backward pass"):
            gradients = [np.asarray(gradient) for gradient in self.derivatives(total, starts)]
        for tensor, gradient in zip(named, gradients, strict=True):
            before = self._gradients.get(tensor)
            self._gradients[tensor] = gradient if before is None else before + gradient

    def jvp(
        self, roots: Sequence[Any], leaves: Sequence[Any], directions: Sequence[np.ndarray]
    ) -> list[np.ndarray | None]:
        """Return tangents by a derivative of a derivative.

        The inner one is that of the weighted replayed roots, along the directions; the outer one is with respect to
        the weights."""
        if not roots:
            return []
        calls, _ = self._calls_leading_to(list(roots))

        def weighted(weights: Sequence[Any], values: Sequence[Any]) -> Any:
            known = dict(zip(leaves, values, strict=True))
            for call in calls:
                known[call.result] = call.form.call(self.library, self._replayed(call, known), call.shape)
            return self._inner(weights, [known[root] for root in roots])

        def along(*weights: Any) -> Any:
            starts = [np.array(leaf.array) for leaf in leaves]
            return self._inner(directions, self.derivatives(lambda *values: weighted(weights, values), starts))

        with translate_errors(f"{self.name}'s derivative of a derivative"):
            return [np.asarray(one) for one in self.derivatives(along, [np.ones_like(r.array) for r in roots])]

    def _inner(self, some: Sequence[Any], others: Sequence[Any]) -> Any:
        """Return the sum of products."""
        add_up = self.library.function("sum")
        return reduce(operator.add, [add_up(one * other) for one, other in zip(some, others, strict=True)])

    def _calls_leading_to(self, roots: list[WrappedTensor]) -> tuple[list[LibraryCall], list[WrappedTensor]]:
        """Return the calls that lead to the roots, and the named tensors involved."""
        wanted = set(roots)
        calls: list[LibraryCall] = []
        for call in reversed(self._record):
            if call.result in wanted and call.result.requires_grad:
                calls.append(call)
                wanted.update(tensors_in(call.bound))
        named = [tensor for tensor in dict.fromkeys(self._named) if tensor in wanted and tensor.requires_grad]
        return calls[::-1], named

    def _replayed(self, call: LibraryCall, known: dict[WrappedTensor, Any]) -> list[Any]:
        def replayed(value: Any) -> Any:
            is_known = type(value) is WrappedTensor and value in known
            return known[value] if is_known else self.native(call.op, value)

        return [map_nested(value, replayed) for value in call.bound]
