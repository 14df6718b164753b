"""Lookup of an op's form in a library, by trials on separate tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.engines.recording import convert
from gradcheck.engines.tensor_class.call_forms import REDUCTIONS, CallForm, MissingName, forms, settings_of, single_dims
from gradcheck.engines.tensor_class.dialects import AMBIGUOUS
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.engines.tensor_class.op_objects import classes_in, object_forms
from gradcheck.engines.tensor_class.user_code_guard import (
    USER_EXCEPTIONS,
    error_line,
    note_interruption,
    signature_parameters,
)
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor, compute, plain, tensors_in
from gradcheck.errors import GradcheckError, Unsupported, exception_text

#: Exceptions and words by which a library rejects a call.
_REJECTION_ERRORS = (TypeError, AttributeError, NotImplementedError, AssertionError)
_REJECTION_WORDS = re.compile(
    r"not (yet |currently )?(support|implement|allow|differentiable)|unsupport|only support|non-constant"
)
#: Where NumPy's dot is no op's result.
_DOT_DIFFERS = {"matmul": "there are more than two dimensions", "mul": "there are arrays"}


class NoForm(Unsupported):
    """A library has no form for an op with such arguments."""


@dataclass(slots=True)
class FormTrial:
    """The result of one form on separate tensors."""

    form: CallForm
    fits: bool = False  # the result has the right shape
    right: bool = False  # and the right values
    other_meaning: str = ""  # another op of that name, such as NumPy's dot for a matmul
    error: BaseException | None = None
    ran: bool = False  # the call returned; any error came later


class OpLookup:
    """Finds and caches a library's form for each op and kind of arguments."""

    def __init__(self, engine: ForeignEngine, endless: dict[Op, str] | None = None) -> None:
        """`endless` are ops that did not return before a timeout, with a message."""
        self._engine = engine
        self._known: dict[Any, CallForm | str] = {}  # a text is the reason for no form
        self.endless: dict[Op, str] = {} if endless is None else endless
        self._classes: dict[str, list[str]] | None = None  # classes that may be ops

    @property
    def known(self) -> int:
        """The number of cached forms."""
        return len(self._known)

    def form(self, op: Op, bound: Sequence[Any]) -> CallForm:
        """Return the op's form for arguments of these kinds. Raises NoForm."""
        key = (op, *[_kind(value) for value in bound], *settings_of(op, bound), _is_broadcast(op, bound))
        found = self.endless.get(op, self._known.get(key))
        if found is None:
            with self.mark_endless(op):
                found = self._known[key] = self._find(op, bound)
        if isinstance(found, str):
            raise NoForm(found, lacks=op.name)
        return found

    @contextmanager
    def mark_endless(self, op: Op) -> Iterator[None]:
        """Mark an op as endless if it is interrupted in the block."""
        try:
            yield
        except USER_EXCEPTIONS:
            raise
        except BaseException as error:
            note_interruption(error, f"its {op.name}, which was tried,")
            self.endless[op] = f"its {op.name} has not returned"
            raise

    def _find(self, op: Op, bound: Sequence[Any]) -> CallForm | str:
        values, expected = _trial_arguments(op, bound)
        if isinstance(expected, tuple):
            return f"gradcheck does not call its {op.name}, which returns several tensors"
        first = values[0][0] if op.sequence == 0 and values[0] else values[0]
        trials: list[FormTrial] = []
        raising: list[CallForm] = []  # in a backward pass: a dimension may have to be a tuple
        for form in self._forms(op, bound, getattr(first, "ndim", 0)):
            trial = self._try(op, form, values, expected)
            if trial is None:
                continue
            trials.append(trial)
            if trial.right and single_dims(op, bound) and self._raises_in_backward(op, form, values, expected):
                raising.append(form)
                continue
            is_lack = expected is not None and _is_rejected_shape(op, values, trial)
            if trial.right or (form.exact and self._is_trusted(trial) and not is_lack):
                return form
        return raising[0] if raising else _best(op, trials)

    def _forms(self, op: Op, bound: Sequence[Any], ndim: int) -> Iterator[CallForm]:
        """Yield all forms; masks and indices also as the library's tensors."""
        library = self._engine.library
        yield from forms(op, bound, ndim, library)
        if self._classes is None:
            self._classes = classes_in(library)
        yield from object_forms(op, bound, self._classes)
        if self._engine.lifts and any(one.tensor is None for one in tensors_in(bound)):
            yield from (replace(form, lifted=True) for form in forms(op, bound, ndim, library))

    def _try(self, op: Op, form: CallForm, values: Sequence[Any], expected: np.ndarray | None) -> FormTrial | None:
        """Return the result of a trial; None without such a name."""
        engine, trial = self._engine, FormTrial(form)
        shape = () if expected is None else expected.shape
        try:
            given = self._given(op, form, values)
            result = form.call(engine.library, given, shape)
            trial.ran = True
            beyond = form.passes_none(given, shape) or _names_dim_of_number(op, values)
            engine.check_backward(form, given, shape, beyond)
            array = engine.read(result)
            if form.kind == "function" and any(result is one for one in given):
                trial.error = TypeError("it gives its operand back")  # a helper with the name of an op
        except MissingName:
            return None
        except (GradcheckError, MemoryError):
            raise
        except USER_EXCEPTIONS as error:
            trial.error = error
            return trial
        if array is None:
            trial.error = TypeError(f"it returned a {type(result).__name__}")
        elif trial.error is not None and (expected is None or not _is_same(array, expected)):
            return trial
        elif expected is None:
            trial.fits = trial.right = True
        elif array.shape == expected.shape:
            trial.right = _close(array, expected, op.name in AMBIGUOUS)
            trial.other_meaning = (
                "" if trial.right else _matrix_product(op, values, array) or self._base(op, form, given)
            )
            is_other = form.kind == "object" or (form.kind == "operator" and form.name != op.name)
            is_other |= op.name in REDUCTIONS and any(one.index is None for one in form.positional)
            is_other |= form.name == f"{op.name}_op"
            trial.fits = trial.right if is_other else not form.passes_none(given, shape)
        else:
            trial.other_meaning = _other_meaning(op, values, array)
        return trial

    def _base(self, op: Op, form: CallForm, given: Sequence[Any]) -> str:
        """Return the meaning of a logarithm with a parameter for its base, or ""."""
        home = self._engine.library.home(form.name) if form.kind == "function" else type(given[0])
        function = getattr(home, form.name, None) if op.name == "log" else None
        parameters = signature_parameters(function) if callable(function) else None
        return "a logarithm to a base of its own" if any(p.name == "base" for p in parameters or []) else ""

    def _given(self, op: Op, form: CallForm, values: Sequence[Any]) -> list[Any]:
        given = [self._engine.native(op, value, True) for value in values]
        return [self._engine.lift(value) for value in given] if form.lifted else given

    def _raises_in_backward(self, op: Op, form: CallForm, values: Sequence[Any], expected: np.ndarray | None) -> bool:
        shape = () if expected is None else expected.shape
        try:
            self._engine.check_backward(form, self._given(op, form, values), shape, True)
        except (GradcheckError, MemoryError):
            raise
        except USER_EXCEPTIONS:
            return True
        return False

    def _is_trusted(self, trial: FormTrial) -> bool:
        """Return whether an exact form's result is the library's own for this op.

        A function that raises may have another purpose."""
        if trial.error is not None and trial.form.kind == "function":
            return False
        return not trial.other_meaning and not self._rejected(trial.error)

    def _rejected(self, error: BaseException | None) -> bool:
        """Return whether an exception rejects a call, rather than shows a mistake.

        A tensor without an attribute that the library's own code needs is a mistake."""
        if isinstance(error, AttributeError) and self._engine.is_tensor(error.obj):
            return False
        is_stated = error is not None and bool(_REJECTION_WORDS.search(exception_text(error)))
        return isinstance(error, _REJECTION_ERRORS) or is_stated


def _is_rejected_shape(op: Op, values: Sequence[Any], trial: FormTrial) -> bool:
    """Return whether a library has no such form for arrays of these shapes.

    It raises for an array as an index, also a `lifted` one, or for operands that would be broadcast."""
    if not isinstance(trial.error, (ValueError, IndexError, *([AttributeError] if trial.form.lifted else []))):
        return False
    index = values[1] if op.name == "getitem" else ()
    items = index if isinstance(index, tuple) else (index,)
    return _is_broadcast(op, values) or any(isinstance(item, (np.ndarray, list)) for item in items)


def _is_broadcast(op: Op, values: Sequence[Any]) -> bool:
    """Return whether operands of an elementwise op have unlike shapes."""
    return op.elementwise and len({value.shape for value in values[: len(op.rules)] if hasattr(value, "shape")}) > 1


def _best(op: Op, trials: list[FormTrial]) -> CallForm | str:
    """Return the first form of the right shape, or the reason for none."""
    fitting = [trial.form for trial in trials if trial.fits]
    other = next((trial.other_meaning for trial in trials if trial.other_meaning), "")
    if other:
        return f"its {op.name} is {other}"
    if fitting:
        return f"its {op.name} follows another convention than torch's" if op.name in AMBIGUOUS else fitting[0]
    errors = [(not trial.ran, trial.error) for trial in trials if trial.error is not None]
    if errors:
        _, error = min(errors, key=lambda entry: entry[0])
        return f"its {op.name} does not take these arguments: {error_line(error)}"
    return f"it has no {op.name}" + (" with these settings" if trials else "")


def _kind(value: Any) -> Any:
    """Return the properties of an argument that a form may depend on."""
    if type(value) is WrappedTensor:
        return ("tensor", value.ndim, value.dtype.char, value.tensor is None, min(value.array.size, 1))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(_kind, value))
    return repr(value) if isinstance(value, (bool, str, int, type(None), slice)) else type(value).__name__


# Trial arguments ------------------------------------------------------------------------------------


def _trial_arguments(op: Op, bound: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return arguments with other values, and the op's result for them.

    The given ones are used if others are out of domain; the result is None if even these are. Conventions differ for
    negative numbers."""
    generator = np.random.default_rng(0)
    given = [plain(value) for value in bound]
    lowest = (-0.9, 0.2) if op.name in AMBIGUOUS else (0.2,)
    others = [[_other_values(value, generator, low) for value in bound] for low in lowest]
    for values in (*others, given):
        try:
            with np.errstate(all="ignore"):
                expected = compute(op, values)
        except (GradcheckError, ArithmeticError, ValueError, TypeError, LookupError):
            continue
        if isinstance(expected, tuple) or np.isfinite(np.asarray(expected, np.complex128)).all():
            return values, expected
    return given, None


def _other_values(value: Any, generator: np.random.Generator, lowest: float) -> Any:
    def other(tensor: WrappedTensor) -> np.ndarray:
        if not dtypes.is_differentiable(tensor.dtype):
            return tensor.array
        return generator.uniform(lowest, 0.9, tensor.shape).astype(tensor.dtype)

    return convert(value, WrappedTensor, other)


def _names_dim_of_number(op: Op, values: Sequence[Any]) -> bool:
    """Return whether a dimension of a single number is named, as torch allows."""
    dims = [value for one, value in zip(op.parameters, values, strict=True) if one.name in ("dim", "dims")]
    return np.shape(values[0]) == () and any(dim is not None for dim in dims)


def _other_meaning(op: Op, values: Sequence[Any], array: np.ndarray) -> str:
    """Return another meaning of the op's name with this result, or ""."""
    is_total = all(value is None for one, value in zip(op.parameters, values, strict=True) if one.name == "dim")
    if is_total and _is_over_one_dimension(op, values, array):
        return "over one dimension where none is named"
    if is_total and op.name in REDUCTIONS and array.size > 1 and _is_same(array, np.asarray(values[0])):
        return "over no dimension where none is named"
    return _matrix_product(op, values, array)


def _matrix_product(op: Op, values: Sequence[Any], array: np.ndarray) -> str:
    """Return the meaning of a product that is NumPy's dot, or ""."""
    if (op.name == "matmul" and max(map(np.ndim, values)) > 2) or op.name == "mul":
        with suppress(ValueError):
            dot = np.dot(*values[:2])
            if dot.shape == array.shape and _close(array, dot):
                return f"NumPy's dot, which differs where {_DOT_DIFFERS[op.name]}"
    return ""


def _is_over_one_dimension(op: Op, values: Sequence[Any], array: np.ndarray) -> bool:
    if array.size == 1 or "dim" not in [one.name for one in op.parameters] or not isinstance(values[0], np.ndarray):
        return False
    for dim in range(values[0].ndim):
        try:
            one = compute(op, op.bind((values[0], dim), {}))
        except USER_EXCEPTIONS:
            return False
        if np.size(one) == array.size and _close(array.reshape(-1), np.reshape(one, -1)):
            return True
    return False


def _is_same(array: np.ndarray, expected: np.ndarray) -> bool:
    return array.shape == expected.shape and _close(array, expected)


def _close(array: np.ndarray, expected: np.ndarray, strictly: bool = False) -> bool:
    """Return whether values are equal; `strictly` for similar variants."""
    least = min(array.dtype.itemsize, expected.dtype.itemsize)
    tolerance = 1e-9 if least >= 8 else (1e-6 if strictly else 1e-4) if least == 4 else 1e-2
    return bool(np.allclose(np.asarray(array, np.complex128), np.asarray(expected, np.complex128), tolerance, 1e-12))
