"""Ops on the tensors of somebody's engine: by its own names for them, by what they are made of, or by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op, lookup
from gradcheck.engines.tensor_class.api import Style
from gradcheck.engines.tensor_class.call_forms import SHAPED, Form, Library
from gradcheck.engines.tensor_class.decompositions import REWRITES
from gradcheck.engines.tensor_class.errors import translating
from gradcheck.engines.tensor_class.op_lookup import Speaker
from gradcheck.engines.tensor_class.wrapper import Held, tensors_in
from gradcheck.errors import GradcheckError, Unsupported

#: Ops whose result has another dtype, and no more.
_CHANGES_DTYPE = frozenset({"to", "float", "double", "half", "bfloat16", "cfloat", "cdouble", "type", "type_as"})


class Applying:
    """The half of an engine that applies ops; the other half makes tensors and runs backward passes."""

    name: str
    style: Style
    library: Library
    _speaker: Speaker
    _composing: set[Op]
    _spent: bool

    def _leaf(self, array: np.ndarray, requires_grad: bool) -> Held:
        raise NotImplementedError

    def _constant(self, array: np.ndarray) -> Held:
        raise NotImplementedError

    def _held(self, tensor: Any, values: np.ndarray, requires_grad: bool) -> Held:
        raise NotImplementedError

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """An op on all its arguments in order. Raises Unsupported where the engine cannot express it."""
        self._spent = False
        held = list(tensors_in(bound))
        if op.name == "detach":
            return self._detached(bound[0])
        if all(tensor.tensor is None for tensor in held) or not (op.composite or any(op.rules)):
            return self._by_numpy(op, bound)
        if op.name in _CHANGES_DTYPE:
            return self._cast(op, bound)
        try:
            form = self._speaker.form(op, bound)
        except Unsupported as lacking:
            return self._otherwise(op, bound, lacking)
        with translating(f"its {form.label}"):
            shape = op_shape(op, bound) if op.name in SHAPED else ()
            result = form.call([self.native(op, value, False) for value in bound], shape)
        return self._called(op, form, bound, shape, result)

    def _called(self, op: Op, form: Form, bound: tuple[Any, ...], shape: tuple[int, ...], result: Any) -> Held:
        """What the engine returned, held."""
        held = list(tensors_in(bound))
        with translating(f"reading what its {op.name} returned"):
            values = self.read(result)
        if values is None:
            raise Unsupported(f"its {op.name} returned no tensor but a {type(result).__name__}", lacks=op.name)
        if any(result is tensor.tensor for tensor in held):  # a tensor of its own, with a gradient of its own
            with translating("a multiplication by 1"):
                result = result * 1
        requires_grad = any(tensor.requires_grad for tensor in held) and dtypes.is_differentiable(values.dtype)
        return self._held(result, values, requires_grad)

    def _otherwise(self, op: Op, bound: tuple[Any, ...], lacking: Unsupported) -> Any:
        """By the op's definition in others, where it has one."""
        if op in self._composing:
            raise lacking
        lifted = self._lifted(op, bound)
        if lifted is not None:
            return self.apply(op, lifted)
        rewrite = op.forward if op.composite else REWRITES.get(op.name)
        if rewrite is None:
            raise lacking
        self._composing.add(op)
        try:
            result = rewrite(*bound)
        except Unsupported as inner:
            known = lookup(inner.lacks)  # an op of the core's own kitchen says nothing to others
            raise (inner if op.composite and (known is None or known.torch) else lacking) from inner
        except GradcheckError:
            raise
        except (TypeError, ValueError, AttributeError) as error:  # its definition needs NumPy's arrays
            raise lacking from error
        finally:
            self._composing.discard(op)
        if result is NotImplemented:
            raise lacking
        return result

    def _lifted(self, op: Op, bound: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A number beside a tensor as a tensor of the same shape, for engines that know no numbers."""
        count = len(op.rules)
        if not op.elementwise or not any(type(value) in (int, float) for value in bound[:count]):
            return None
        like = next(tensors_in(bound[:count]))
        full = [
            self._leaf(np.full(like.shape, value, like.dtype), False) if type(value) in (int, float) else value
            for value in bound[:count]
        ]
        return (*full, *bound[count:])

    def _by_numpy(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """What has no gradient (comparisons, creators, indices) is not the engine's to compute."""
        values = [plain(value) for value in bound]
        with np.errstate(all="ignore"):
            result = op.forward(*values) if op.composite else op.compute(values)
        if isinstance(result, (tuple, list)):
            return tuple(self._constant(np.asarray(part)) for part in result)
        return self._constant(np.asarray(result))

    def _detached(self, value: Any) -> Held:
        """By the engine's own detach, or as a new tensor of the same values."""
        if value.tensor is None:
            return self._constant(value.array)
        detach = getattr(value.tensor, "detach", None)
        if not callable(detach):
            return self._leaf(value.array, False)
        with translating("its detach()"):
            result = detach()
            return self._held(result, self.style.read(result), False)

    def _cast(self, op: Op, bound: tuple[Any, ...]) -> Any:
        wanted = op.forward(*map(plain, bound)) if op.composite else op.compute([plain(v) for v in bound])
        if wanted.dtype == bound[0].dtype:
            return bound[0]
        if not dtypes.is_differentiable(wanted.dtype):
            return self._constant(wanted)
        raise Unsupported(f"{self.name} is not asked to change dtypes", lacks=f"a change of dtype to {wanted.dtype}")

    # What the speaker asks ----------------------------------------------------------------------

    def native(self, op: Op, value: Any, fresh: bool) -> Any:
        """An argument as the engine takes it: its tensors, arrays for indices and masks, plain settings."""
        if type(value) is Held:
            if value.tensor is not None and not fresh:
                return value.tensor
            value = value.array
            requires_grad = False
        else:
            requires_grad = fresh
        if isinstance(value, np.ndarray):
            return self._native_array(op, value, requires_grad)
        if isinstance(value, (list, tuple)):
            return type(value)([self.native(op, item, fresh) for item in value])
        return value

    def _native_array(self, op: Op, array: np.ndarray, requires_grad: bool) -> Any:
        if dtypes.is_differentiable(array.dtype):
            return self._leaf(array, requires_grad).tensor
        if (op.elementwise and not op.masked and array.dtype.kind in "iu") or op.uniform:
            return self._leaf(array.astype(np.float64), False).tensor
        return array

    def rehearse(self, form: Form, given: list[Any], shape: tuple[int, ...]) -> None:
        """A tensor's form has nothing to hide: a backward pass is part of what is tested."""

    def read(self, result: Any) -> np.ndarray | None:
        """The values of one of the engine's tensors; None for anything else."""
        return np.asarray(self.style.read(result)) if self.style.is_tensor(result) else None


def plain(value: Any) -> Any:
    if type(value) is Held:
        return value.array
    if isinstance(value, (list, tuple)):
        return type(value)([plain(item) for item in value])
    return value


def op_shape(op: Op, bound: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of what the op makes of these arguments."""
    values = [plain(value) for value in bound]
    return np.shape(op.forward(*values) if op.composite else op.compute(values))
