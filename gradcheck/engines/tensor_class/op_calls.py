"""Ops on the tensors of a library: by its own names, by others, by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import repeat
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import TABLE, Op, lookup
from gradcheck.engines.base import Application, Pullback
from gradcheck.engines.recording import arrays, convert
from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.call_forms import SHAPED, CallForm
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.engines.tensor_class.members import method_of
from gradcheck.engines.tensor_class.op_lookup import NoForm, OpLookup
from gradcheck.engines.tensor_class.user_code_guard import EngineError, is_deliberate, translate_errors
from gradcheck.engines.tensor_class.wrapped_tensor import LibraryCall, WrappedTensor, compute, plain, tensors_in
from gradcheck.errors import GradcheckError, Unsupported

#: Ops that only change the dtype.
_CHANGES_DTYPE = frozenset({"to", "float", "double", "half", "bfloat16", "cfloat", "cdouble", "type", "type_as"})


class OpCalls:
    """Applies ops to one engine's tensors."""

    def __init__(self, engine: ForeignEngine) -> None:
        self.engine = engine
        self.lookup = OpLookup(engine)
        self._decomposing: set[Op] = set()

    def forget_forms(self) -> None:
        self.lookup = OpLookup(self.engine, self.lookup.endless)

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """Apply an op to all its arguments. Raises Unsupported."""
        if op.name == "detach":
            return self.detach(bound[0])
        if all(tensor.tensor is None for tensor in tensors_in(bound)) or not (op.composite or any(op.rules)):
            return self._by_numpy(op, bound)
        if op.name in _CHANGES_DTYPE:
            return self._cast(op, bound)
        try:
            return self.apply_natively(op, bound)
        except NoForm as lacking:
            return self._decomposed(op, bound, lacking)

    def apply_natively(self, op: Op, bound: tuple[Any, ...]) -> WrappedTensor:
        """Apply the library's own op. Raises NoForm if it has none."""
        engine, form = self.engine, self.lookup.form(op, bound)
        with translate_errors(f"its {form.label}"):
            shape = np.shape(compute(op, bound)) if op.name in SHAPED else ()
            given = [engine.native(op, value) for value in bound]
            given = [engine.lift(value) for value in given] if form.lifted else given
        try:
            with guarded_call(op, bound, form):
                result = form.call(engine.library, given, shape)
        except EngineError:
            engine.note_call(LibraryCall(None, op, form, bound, shape))
            raise
        with translate_errors(f"reading what its {op.name} returned"):
            values = engine.read(result)
        if values is None:
            raise Unsupported(f"its {op.name} returned no tensor but a {type(result).__name__}", lacks=op.name)
        given = list(tensors_in(bound))
        if values.size == 1 and values.ndim and np.shape(compute(op, bound)) == ():
            values = values.reshape(())  # a total with a dimension
        requires_grad = any(tensor.requires_grad for tensor in given) and dtypes.is_differentiable(values.dtype)
        made = engine.wrap(result, values, requires_grad)
        made.unread = any(result is tensor.tensor for tensor in given)
        engine.note_call(LibraryCall(made, op, form, bound, shape))
        return made

    def detach(self, tensor: WrappedTensor) -> WrappedTensor:
        """Return the library's detached tensor, or a new one of the same values."""
        if tensor.tensor is None:
            return self.engine.constant(tensor.array)
        detach = method_of(tensor.tensor, dialects.DETACH_METHODS)
        if detach is None:
            return self.engine.new(tensor.array, False)
        with translate_errors("its detach()"):
            result = detach()
            return self.engine.wrap(result, self.engine.values(result), False)

    def _decomposed(self, op: Op, bound: tuple[Any, ...], lacking: NoForm) -> Any:
        if op in self._decomposing:
            raise lacking
        lifted = self._without_numbers(op, bound)
        if lifted is not None:
            return self.apply(op, lifted)
        decomposition = op.forward if op.composite else DECOMPOSITIONS.get(op.name)
        if decomposition is None:
            raise lacking
        self._decomposing.add(op)
        try:
            result = decomposition(*bound)
        except Unsupported as inner:
            known = lookup(inner.lacks)  # an op without a counterpart in torch is internal
            raise (inner if op.composite and (known is None or known.torch) else lacking) from inner
        except GradcheckError:
            raise
        except (TypeError, ValueError, AttributeError) as error:  # its definition needs NumPy's arrays
            raise lacking from error
        finally:
            self._decomposing.discard(op)
        if result is NotImplemented:
            raise lacking
        return convert(result, np.ndarray, self.engine.constant)

    def _without_numbers(self, op: Op, bound: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return arguments with tensors for numbers, which some libraries need."""
        count = len(op.rules)
        if not op.elementwise or not any(self._is_plain(value) for value in bound[:count]):
            return None
        like = next(tensor for tensor in tensors_in(bound[:count]) if tensor.tensor is not None)
        operands = list(bound[:count])
        for place, value in enumerate(operands):
            if self._is_plain(value):
                shape = like.shape if type(value) in (int, float) else np.shape(plain(value))
                operands[place] = self.engine.new(np.full(shape, plain(value), like.dtype), False)
        return (*operands, *bound[count:])

    def _is_plain(self, value: Any) -> bool:
        if type(value) is WrappedTensor:
            return value.tensor is None and dtypes.is_differentiable(value.dtype)
        return type(value) in (int, float)

    def _by_numpy(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """Compute an op without gradients: comparisons, creators, indices."""
        with np.errstate(all="ignore"):
            result = compute(op, bound)
        if isinstance(result, (tuple, list)):
            return tuple(self.engine.constant(np.asarray(part)) for part in result)
        return self.engine.constant(np.asarray(result))

    def _cast(self, op: Op, bound: tuple[Any, ...]) -> WrappedTensor:
        wanted = compute(op, bound)
        tensor: WrappedTensor = bound[0]
        if wanted.dtype == tensor.dtype:
            return tensor
        if not dtypes.is_differentiable(wanted.dtype):
            return self.engine.constant(wanted)
        message = f"gradcheck does not change dtypes in {self.engine.name}"
        raise Unsupported(message, lacks=f"a change of dtype to {wanted.dtype}")


@contextmanager
def guarded_call(op: Op, bound: tuple[Any, ...], form: CallForm) -> Iterator[None]:
    """Raise Unsupported for exceptions that show no mistake.

    They are deliberate, or Python's own for inf or NaN, as that of 1 / 0."""
    try:
        with translate_errors(f"its {form.label}"):
            yield
    except EngineError as error:
        raised = error.__cause__
        if raised is not None and is_deliberate(raised):
            compute(op, bound)  # raises an error that the case may expect
            raise Unsupported(error.message, lacks=op.name) from error
        if not isinstance(raised, (ArithmeticError, ValueError)):
            raise
        with np.errstate(all="ignore"):
            if np.isfinite(compute(op, bound)).all():
                raise
        raise Unsupported(error.message, lacks="infinities, and what is no number") from error


# Ops that a library lacks ---------------------------------------------------------------------------
#
# They are written in other ops by arithmetic identities alone, so that the case's own ops are tested.


def _div(input: Any, other: Any, rounding_mode: Any) -> Any:
    if rounding_mode is not None:
        return NotImplemented
    return input * (1 / other) if isinstance(other, (int, float)) and other else input * other**-1.0


def _mean(input: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    if dtype is not None:
        return NotImplemented
    total = TABLE["sum"](input, dim, keepdim)
    count = prod(input.shape) // max(1, prod(total.shape))
    return total * (1 / count) if count else NotImplemented


def _expand(input: Any, size: Any) -> Any:
    """Broadcast by a product with ones."""
    lead = len(size) - input.ndim
    target = [input.shape[i - lead] if s == -1 else s for i, s in enumerate(size)]
    return input * np.ones(target, input.dtype)


def _squeeze(input: Any, dim: Any) -> Any:
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    gone = {d % max(input.ndim, 1) for d in dims}
    return TABLE["reshape"](input, [size for i, size in enumerate(input.shape) if i not in gone or size != 1])


def _unsqueeze(input: Any, dim: int) -> Any:
    shape = list(input.shape)
    shape.insert(dim % (input.ndim + 1), 1)
    return TABLE["reshape"](input, shape)


#: An op as a function of all its arguments, by name; NotImplemented for arguments that it does not cover.
DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "add": lambda input, other, alpha: NotImplemented if alpha == 1 else input + other * alpha,
    "sub": lambda input, other, alpha: input + other * -alpha,
    "div": _div,
    "mean": _mean,
    "expand": _expand,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "neg": lambda input: input * -1.0,
    "positive": lambda input: input * 1.0,
    "clone": lambda input: input * 1.0,
    "contiguous": lambda input: input * 1.0,
    "square": lambda input: input * input,
    "reciprocal": lambda input: input**-1.0,
    "sqrt": lambda input: input**0.5,
    "rsqrt": lambda input: input**-0.5,
}


# Elementwise ops alone, for engines that do not broadcast ------------------------------------------
#
# In a graph, a broadcast number is used many times, and the engine's pass sums its gradients.


def broadcast_operands(application: Application) -> Application:
    """Return an elementwise op with operands of its result's shape."""
    output = application.outputs[0] if application.outputs else None
    if not application.op.elementwise or output is None or application.shared:
        return application
    stretch = partial(np.broadcast_to, shape=output[0])
    args = convert(application.args, np.ndarray, stretch)
    return replace(application, args=args, kwargs=convert(application.kwargs, np.ndarray, stretch), recorded=None)


def sum_to_operands(found: Pullback, application: Application) -> Pullback:
    """Return the gradients summed to the op's own operands."""
    pairs = zip(arrays(application.args, application.kwargs), application.tracked or repeat(True), strict=False)
    shapes = [array.shape for array, tracked in pairs if tracked and dtypes.is_differentiable(array.dtype)]
    to = TABLE["sum_to_size"].forward
    gradients = (None if one is None else to(one, shape) for one, shape in zip(found.gradients, shapes, strict=False))
    return replace(found, gradients=tuple(gradients))
