"""The engine of classes that hold one number a node.

A tensor is an array of such numbers; cases are computed number by number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.families import CONTRACTIONS
from gradcheck.autograd.op import TABLE, Op
from gradcheck.engines.base import Application, Cotangents, OpComposition, Pullback
from gradcheck.engines.recording import convert
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.backward_engine import Seeds
from gradcheck.engines.tensor_class.capabilities import check_can_accumulate
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.hypotheses import A, B
from gradcheck.engines.tensor_class.op_calls import OpCalls, broadcast_operands, guarded_call, sum_to_operands
from gradcheck.engines.tensor_class.op_lookup import NoForm
from gradcheck.engines.tensor_class.traits import made_dtype
from gradcheck.engines.tensor_class.user_code_guard import EndlessRecursion, EngineError, translate_errors
from gradcheck.engines.tensor_class.wrapped_tensor import LibraryCall, WrappedTensor, compute, tensors_in
from gradcheck.errors import Unsupported

#: The limits of numbers in a tensor, and of multiplications in a product.
MAX_NUMBERS, MAX_PRODUCTS = 4_096, 50_000

#: The ops by which NumPy computes others on arrays of objects.
_NUMBER_OPS = ("add", "sub", "mul", "div", "neg")
#: Exceptions of NumPy's functions on objects that lack an operation.
_OBJECT_ARRAY_ERRORS = (
    TypeError,
    AttributeError,
    ValueError,
    NotImplementedError,
    AssertionError,
    IndexError,
    ArithmeticError,
)


class ScalarClassEngine(TensorClassEngine):
    """Arrays of a class's numbers; constants stay plain numbers."""

    lifts = False

    def __init__(self, api: Api, name: str) -> None:
        super().__init__(api, name)
        self.held_dtype = np.dtype(made_dtype(self))
        self.calls = ScalarCalls(self)
        self._named_numbers: dict[int, Any] = {}  # numbers in a named tensor of this graph
        self._used_numbers: dict[int, Any] = {}  # operands of other numbers

    def new_graph(self) -> None:
        super().new_graph()
        self._named_numbers, self._used_numbers = {}, {}

    # Tensors ------------------------------------------------------------------------------------

    def new(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """Return an array of the class's numbers. Raises Unsupported."""
        if array.dtype != self.held_dtype:
            message = f"{self.constructor_name} holds one number of {self.held_dtype}, not of {array.dtype}"
            raise Unsupported(message, lacks=array.dtype.name)
        check_size(array.size)
        with translate_errors(f"{self.constructor_name}(number)"):
            objects = _map_elements(lambda number: self.api.make(number, requires_grad), array)
            initial = self.api.initial_gradient(objects.flat[0]) if array.size else None
        return WrappedTensor(self, objects, array.copy(), requires_grad, initial)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """Return an array of the class's numbers; a constant has plain ones."""
        made = super().leaf(array, True) if requires_grad else self.constant(array)
        if made.tensor is not None:
            self._claim_numbers(made.tensor)
        return made

    def gather(self, objects: np.ndarray) -> WrappedTensor:
        """Return computed numbers as one tensor; plain ones become the class's."""
        check_size(objects.size)
        plain = [index for index in np.ndindex(objects.shape) if not self.api.is_tensor(objects[index])]
        with translate_errors(f"{self.constructor_name}(number)"):
            for index in plain if len(plain) < objects.size else ():
                objects[index] = self.api.make(np.array(float(objects[index])), True)
        with translate_errors("reading values"):
            values = self.values(objects)
            fresh = self.api.initial_gradient(self.api.make(np.array(0.0), True))
        return WrappedTensor(self, objects, values, True, fresh)

    def values(self, tensor: np.ndarray) -> np.ndarray:
        return _map_elements(self.number, tensor).astype(self.held_dtype)

    def number(self, value: Any) -> float:
        """Return the value of one of the class's numbers, or of a plain one."""
        return float(self.api.read(value).item() if self.api.is_tensor(value) else value)

    def native(self, op: Op, value: Any, fresh: bool = False) -> Any:
        """Return a single number, on which calls are tried."""
        if type(value) is WrappedTensor:
            return value.tensor
        if isinstance(value, np.ndarray):
            return self.api.make(value, True) if dtypes.is_differentiable(value.dtype) else value.item()
        return value

    def read(self, result: Any) -> np.ndarray | None:
        return np.asarray(self.number(result), self.held_dtype) if self.api.is_tensor(result) else None

    def parts(self, application: Application, dtype: np.dtype) -> OpComposition:
        """Return the parts of an op; of structural ones, ops on numbers."""
        found = super().parts(application, dtype)
        if application.op.elementwise:
            return found
        known = {part.op.name for part in found.called}
        numbers = [TABLE[name] for name in found.methods if name in _NUMBER_OPS and name not in known]
        given, outputs = (A, B), ((A.shape, A.dtype),)
        made = [Application(op, given[: len(op.rules)], {}, application.owner, outputs=outputs) for op in numbers]
        return replace(found, called=(*found.called, *made))

    def has_rule(self, op: Op) -> bool:
        return op.elementwise and op.name != "where"

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Pull back ops with broadcast operands, and sum gradients afterwards."""
        found = super().pull_back([broadcast_operands(application) for application in applications], cotangents, dtype)
        return [sum_to_operands(*one) for one in zip(found, applications, strict=True)]

    # Gradients ----------------------------------------------------------------------------------

    def raw_gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        found, arrived = np.zeros(tensor.shape, self.held_dtype), False
        with translate_errors("reading a gradient"):
            for index in np.ndindex(tensor.shape):
                value = tensor.tensor[index]
                one = self.api.gradient_array(value) if self.api.is_tensor(value) else None
                if one is not None:
                    found[index], arrived = float(one.reshape(-1)[0]), True
        return found if arrived or not found.size else None

    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        if tensor.tensor is None or tensor.unread:
            return
        check_can_accumulate(self.api, gradient)
        with translate_errors("setting a gradient"):
            for index in np.ndindex(tensor.shape):
                if self.api.is_tensor(tensor.tensor[index]):
                    new = tensor.initial if gradient is None else float(gradient[index])
                    self.api.set_gradient(tensor.tensor[index], new, gradient is None)

    def retain(self, tensor: WrappedTensor) -> None:
        """Mark a gradient as unread if the numbers are shared with other tensors.

        They must be in no other named tensor, and operands of no number that has been made on the way: the first of
        running sums is in all that follow."""
        if tensor.tensor is not None and not tensor.is_leaf:
            used = not self._used_numbers.keys().isdisjoint(map(id, tensor.tensor.flat))
            its_own = self._claim_numbers(tensor.tensor) and not used
            self._retained.append(tensor)
            tensor.unread = not its_own or not self.capabilities.keeps_intermediates

    def note_use(self, operands: Sequence[np.ndarray], made: np.ndarray) -> None:
        """Record the operands of new numbers."""
        given = {id(value): value for operand in operands for value in operand.flat if self.api.is_tensor(value)}
        if any(id(value) not in given for value in made.flat):
            self._used_numbers |= given

    def _claim_numbers(self, numbers: np.ndarray) -> bool:
        """Record a named tensor's numbers; return whether all are its own."""
        before = len(self._named_numbers)
        self._named_numbers |= {id(value): value for value in numbers.flat if self.api.is_tensor(value)}
        return len(self._named_numbers) == before + numbers.size

    # Passes -------------------------------------------------------------------------------------

    def start_of(self, root: WrappedTensor) -> Any:
        """Return the root's number. Raises Unsupported for a plain one."""
        number = root.tensor.reshape(-1)[0]
        if not self.api.is_tensor(number):
            raise Unsupported("a backward pass from a plain number", lacks="passes from constants")
        return number

    def values_of(self, root: Any) -> np.ndarray:
        return np.asarray(self.number(root), self.held_dtype)

    def total(self, roots: list[WrappedTensor], seeds: Seeds) -> WrappedTensor:
        """Return the sum of numbers times incoming gradients."""
        terms = [self._weighted(root, seed) for root, seed in zip(roots, seeds, strict=True)]
        numbers = [value for term in terms for value in term.reshape(-1)]
        if not numbers:
            raise Unsupported("a backward pass from no numbers at all", lacks="empty tensors")
        with translate_errors("the sum of roots"):
            while len(numbers) > 1:  # a balanced tree: a chain might be too deep for an engine that recurses
                pairs = [a + b for a, b in zip(numbers[::2], numbers[1::2], strict=False)]
                numbers = pairs + numbers[len(pairs) * 2 :]
        objects = np.empty((), object)
        objects[()] = numbers[0]
        return self.gather(objects)

    def _weighted(self, root: WrappedTensor, seed: np.ndarray | None) -> np.ndarray:
        ones = seed is None or np.all(seed == 1)
        return np.asarray(root.tensor if ones else (root * self.constant(np.asarray(seed, self.held_dtype))).tensor)


class ScalarCalls(OpCalls):
    """Elementwise ops on each number; other ops by NumPy on arrays of objects."""

    engine: ScalarClassEngine

    def detach(self, tensor: WrappedTensor) -> WrappedTensor:
        return self.engine.constant(tensor.array)

    def apply_natively(self, op: Op, bound: tuple[Any, ...]) -> WrappedTensor:
        """Apply an op to arrays of numbers. Raises NoForm."""
        if op.composite:
            raise NoForm(f"it has no {op.name}", lacks=op.name)
        if not op.elementwise or op.name == "where":  # `where` only selects elements
            return self._structural(op, bound)
        try:
            return self._elementwise(op, bound)
        except (EngineError, EndlessRecursion, Unsupported):
            if not any(_is_named_constant(value) for value in bound):
                raise
        new, dtype = self.engine.new, self.engine.held_dtype
        own = (new(value.array.astype(dtype), False) if _is_named_constant(value) else value for value in bound)
        return self._elementwise(op, tuple(own))

    def _elementwise(self, op: Op, bound: tuple[Any, ...]) -> WrappedTensor:
        count = len(op.rules)
        operands = [_objects(value) for value in bound[:count]]
        try:
            shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        except ValueError as error:
            raise Unsupported(f"single numbers have no shapes: {error}", lacks="shapes") from error
        check_size(prod(shape))
        result = np.empty(shape, object)
        if not result.size:
            return self.engine.gather(result)
        given, operands = operands, [np.broadcast_to(operand, shape) for operand in operands]
        first = [self._scalar(operand.reshape(-1)[0]) for operand in operands]
        form, library = self.lookup.form(op, (*first, *bound[count:])), self.engine.library
        with guarded_call(op, bound, form):
            for index in np.ndindex(shape):
                numbers = [operand[index] for operand in operands]
                result[index] = form.call(library, [*numbers, *bound[count:]], ())
        self.engine.note_use(given, result)
        made = self.engine.gather(result)
        self.engine.note_call(LibraryCall(made, op, form, bound, shape))
        return made

    def _scalar(self, value: Any) -> Any:
        """Return one number of an operand, on which calls are looked up."""
        if not self.engine.api.is_tensor(value):
            return value
        return WrappedTensor(self.engine, value, np.array(self.engine.number(value)), True)

    def _structural(self, op: Op, bound: tuple[Any, ...]) -> WrappedTensor:
        """Apply the op's own NumPy forward to arrays of objects."""
        tensors = list(tensors_in(bound)) if op.name in CONTRACTIONS else []
        last = max((tensor.shape[-1] for tensor in tensors if tensor.ndim), default=1)
        if max((tensor.array.size for tensor in tensors), default=0) * last > MAX_PRODUCTS:
            raise Unsupported("the product is too large to be written out", lacks="large tensors")
        wanted = np.asarray(compute(op, bound))

        def objects_of(tensor: WrappedTensor) -> np.ndarray:
            return _objects(tensor) if tensor.dtype.kind == "f" else tensor.array

        with translate_errors(f"{op.name}, written in its numbers,"):
            try:
                result = op.forward(*[convert(value, WrappedTensor, objects_of) for value in bound])
            except _OBJECT_ARRAY_ERRORS as error:
                raise NoForm(f"{op.name} cannot be written in its numbers: {error}", lacks=op.name) from error
        if np.shape(result) != wanted.shape:
            raise Unsupported(f"{op.name} cannot be written in its numbers", lacks=op.name)
        objects = np.empty(wanted.shape, object)
        objects[...] = result
        given = [one.tensor for one in tensors_in(bound) if one.tensor is not None]
        self.engine.note_use(given, objects)
        made = self.engine.gather(objects)
        if not np.array_equal(made.array, wanted, equal_nan=True) and self._is_misordered(given, objects):
            raise NoForm(
                f"its numbers are in no order: a comparison gives no truth value, for {op.name}", lacks=op.name
            )
        return made

    def _is_misordered(self, given: Sequence[np.ndarray], made: np.ndarray) -> bool:
        """Return whether operands were selected by comparisons that give no bool."""
        numbers = {id(value): value for operand in given for value in operand.flat}
        if not made.size or any(id(value) not in numbers for value in made.flat):
            return False
        with translate_errors("a comparison"):
            return not isinstance(made.flat[0] < next(iter(numbers.values())), (bool, np.bool_))


def _map_elements(function: Callable[[Any], Any], numbers: np.ndarray) -> np.ndarray:
    made = np.empty(numbers.shape, object)
    for index in np.ndindex(numbers.shape):
        made[index] = function(numbers[index])
    return made


def check_size(size: int) -> None:
    if size > MAX_NUMBERS:
        raise Unsupported(f"{size:,} numbers are too many to be written out one by one", lacks="large tensors")


def _is_named_constant(value: Any) -> bool:
    """Return whether an operand is no number of the case's text.

    A class may take plain numbers on neither side; it still takes its own."""
    return type(value) is WrappedTensor and value.tensor is None and value.dtype.kind in "iuf"


def _objects(value: Any) -> np.ndarray:
    """Return an operand as an array of objects."""
    if type(value) is WrappedTensor:
        return np.asarray(value.array.astype(object) if value.tensor is None else value.tensor)
    return np.asarray(value).astype(object)
