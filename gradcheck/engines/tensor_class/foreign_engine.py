"""The base of engines for libraries that gradcheck did not write.

A fault of the library costs no more than one case.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial, partialmethod
from types import CodeType, FrameType
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op, whole_table
from gradcheck.engines.base import Application, Cotangents, Evaluation, OpComposition, Pullback, as_tensor_error
from gradcheck.engines.define_by_run import DefineByRun, OpRun
from gradcheck.engines.recording import Recorder, flat, map_nested
from gradcheck.engines.tensor_class.call_forms import OPERATORS, CallForm, Library, Shape, names_of
from gradcheck.engines.tensor_class.user_code_guard import EngineError, Output, translate_errors, with_expected_errors
from gradcheck.engines.tensor_class.wrapped_tensor import LibraryCall, Owner, WrappedTensor, compute, plain, tensors_in
from gradcheck.errors import GradcheckError, Place, Unsupported
from gradcheck.language.problem import Problem

#: Seconds for each case, unless the run has its own limit: a user's engine may loop for ever.
TIMEOUT = 20.0
#: Python's names of operators, where torch has others.
_PYTHON = {"div": "truediv", "floor_divide": "floordiv", "remainder": "mod", "positive": "pos"}


def _application(call: LibraryCall, owner: str) -> Application:
    kinds = (WrappedTensor, np.ndarray)
    tracked = tuple(getattr(value, "requires_grad", False) for value in flat(call.bound) if type(value) in kinds)
    pairs = list(zip(call.op.parameters, map(plain, call.bound), strict=True))
    args = tuple(value for parameter, value in pairs if not parameter.keyword_only)
    kwargs = {parameter.name: value for parameter, value in pairs if parameter.keyword_only}
    made = np.asarray(compute(call.op, call.bound)) if call.result is None else call.result
    outputs = ((made.shape, made.dtype),)
    tensors = [id(tensor) for tensor in tensors_in(call.bound)]
    shared = len(set(tensors)) < len(tensors)
    return Application(call.op, args, kwargs, owner, tracked, outputs=outputs, shared=shared)


class ForeignEngine(DefineByRun, Owner):
    """A user's library as an engine, and the host of its ops."""

    tensor_type = WrappedTensor
    #: Whether masks and indices may be tensors of the library.
    lifts = False

    def __init__(self, name: str, constructor_name: str, library: Library) -> None:
        """`constructor_name` is the name of a tensor's maker in messages."""
        self.name, self.constructor_name, self.library = name, constructor_name, library
        self.host = self
        self.timeout = TIMEOUT
        self.output = Output()
        self._leaf_arrays: list[tuple[np.ndarray, WrappedTensor]] = []  # leaves of this graph with their arrays
        self._call_log: list[LibraryCall] | None = None

    def has_rule(self, op: Op) -> bool:
        """Return whether the library may have its own rule for an op."""
        return True

    # What a library provides --------------------------------------------------------------------

    @abstractmethod
    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        """Return one of the library's tensors with a copy of the array."""

    @abstractmethod
    def is_tensor(self, value: Any) -> bool:
        """Return whether a value is one of the library's tensors."""

    @abstractmethod
    def values(self, tensor: Any) -> np.ndarray:
        """Return the values of one of its tensors; memory may be shared."""

    def compared_values(self, values: np.ndarray) -> np.ndarray:
        """Return values in the precision of comparisons."""
        return values

    def new_graph(self) -> None:
        """Begin a new graph."""
        self._leaf_arrays = []

    def note_call(self, call: LibraryCall) -> None:
        """Record a call of an op, which may have raised."""
        if self._call_log is not None:
            self._call_log.append(call)

    @contextmanager
    def record_calls(self, calls: list[LibraryCall]) -> Iterator[None]:
        """Record every call in the block."""
        self._call_log = calls
        try:
            yield
        finally:
            self._call_log = None

    def check_backward(self, form: CallForm, given: list[Any], shape: Shape, beyond: bool) -> None:
        """Raise if a form's backward pass shows a missing feature.

        A form with a bound of None, or the dimension of a single number, is `beyond` the purpose of some libraries."""

    # Tensors ------------------------------------------------------------------------------------

    def new(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """Return a tensor of the library. Raises Unsupported for dtype or shape."""
        what = self.constructor_name
        try:
            with translate_errors(f"{what}(array of shape {list(array.shape)}, {array.dtype})"):
                tensor = self.make(array, requires_grad)
                values = self.values(tensor)
        except EngineError as error:
            if array.ndim == 0:
                raise Unsupported(error.message, lacks="single numbers") from error
            if array.dtype == np.float64:
                raise
            raise Unsupported(error.message, lacks=array.dtype.name) from error
        values = self.compared_values(values)
        if values.dtype != array.dtype:
            message = f"{what} keeps numbers in {values.dtype}, not {array.dtype}"
            raise Unsupported(message, hint=f"run with --dtype {values.dtype}", lacks=array.dtype.name)
        if values.shape != array.shape and array.ndim == 0 and values.size == 1:
            values = values.reshape(())  # the library's numbers have a dimension
        if values.shape != array.shape:
            message = f"{what} makes a tensor of shape {list(values.shape)} from {list(array.shape)}"
            raise Unsupported(message, lacks=f"tensors of {array.ndim} dimensions")
        return self.wrap(tensor, values, requires_grad)

    def wrap(self, tensor: Any, values: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """Return a wrapped tensor of the library with a copy of its values."""
        return WrappedTensor(self, tensor, np.array(values), requires_grad)

    def constant(self, array: np.ndarray) -> WrappedTensor:
        """Return a value without a tensor of the library."""
        return WrappedTensor(self, None, array)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """Return a tensor of the library; an index or a mask stays an array."""
        if not dtypes.is_differentiable(array.dtype):
            return self.constant(array)
        made = self.new(array, requires_grad)
        made.is_leaf = True
        self._leaf_arrays.append((array, made))
        return made

    def leaves(self) -> list[Any]:
        """Return the library's objects of leaves that require gradients."""
        made = [one.tensor for _, one in self._leaf_arrays if one.requires_grad and one.tensor is not None]
        several = [one.flat if type(one) is np.ndarray and one.dtype == object else (one,) for one in made]
        return [thing for things in several for thing in things]

    def array(self, tensor: Any) -> np.ndarray:
        return tensor.array if type(tensor) is WrappedTensor else np.asarray(tensor)

    def current_values(self, tensor: WrappedTensor) -> np.ndarray:
        """Return the library's current values of a tensor."""
        with translate_errors("reading its values"):
            return tensor.array if tensor.tensor is None else np.array(self.values(tensor.tensor))

    def native(self, op: Op, value: Any, fresh: bool = False) -> Any:
        """Return an argument as the library takes it.

        If `fresh`, arrays become leaves that require a gradient."""
        return map_nested(value, lambda item: self._native(op, item, fresh))

    def _native(self, op: Op, value: Any, fresh: bool) -> Any:
        if type(value) is WrappedTensor:
            if value.tensor is not None:
                return value.tensor
            value, fresh = value.array, False
        if not isinstance(value, np.ndarray):
            return value
        if dtypes.is_differentiable(value.dtype):
            return self.new(value, fresh).tensor
        if (op.elementwise and not op.masked and value.dtype.kind in "iu") or op.uniform:
            return self.new(value.astype(np.float64), False).tensor
        return value

    def lift(self, value: Any) -> Any:
        """Return an argument with the library's tensors in place of arrays."""
        return map_nested(value, lambda item: self.make(item, False) if type(item) is np.ndarray else item)

    def read(self, result: Any) -> np.ndarray | None:
        """Return the values of one of the library's tensors; None for others."""
        return np.asarray(self.values(result)) if self.is_tensor(result) else None

    # A host, and an engine ----------------------------------------------------------------------

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.apply(op, op.bind(args, kwargs))

    def dtype(self, name: str) -> np.dtype:
        return dtypes.BY_NAME[name]

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        """Run all steps; note changed inputs, and convert expected errors."""
        self.new_graph()
        with self.output.capturing():
            try:
                found = with_expected_errors(problem.case, super().evaluate(problem, recorder))
            except GradcheckError as error:  # the inputs cannot be made
                found = Evaluation(self.name, (), as_tensor_error(error), next(iter(problem.inputs), ""))
            return replace(found, changed=self._changed(problem))

    def parts(self, application: Application, dtype: np.dtype) -> OpComposition:
        """Return the ops called for a missing op, and the methods it calls."""
        calls: list[LibraryCall] = []
        with self.fresh_session(dtype), self.record_calls(calls):
            methods = methods_called(self.library, lambda: OpRun(self, application, ()))
        if any(call.op is application.op for call in calls):
            calls = []
        tracked = [call for call in calls if getattr(call.result, "requires_grad", True)]
        called = [_application(call, application.owner) for call in tracked]
        methods.pop("detach", None)
        code = methods.get(application.op.name) or next(iter(methods.values()), None) if not called else None
        methods.pop("__array_ufunc__", None)
        place = Place(code.co_filename, code.co_firstlineno) if code is not None else None
        return OpComposition(tuple(called), tuple(name for name in methods if name != application.op.name), place)

    def _changed(self, problem: Problem) -> dict[str, np.ndarray]:
        """Return inputs and constants with new values."""
        names = {id(array): name for name, array in (*problem.inputs.items(), *problem.constants.items())}
        found = {}
        for array, made in self._leaf_arrays:
            name = names.get(id(array))
            now = self.current_values(made) if name else array
            now = now.reshape(array.shape) if now.size == array.size else now
            if name and not np.array_equal(now, array, equal_nan=array.dtype.kind in "fc"):
                found[name] = now
        return found

    @contextmanager
    def fresh_session(self, dtype: np.dtype) -> Iterator[None]:
        """Return a session with a graph of its own and captured output."""
        self.new_graph()
        with self.output.capturing(), self.session(dtype):
            yield

    def jvp(
        self, roots: Sequence[Any], leaves: Sequence[Any], directions: Sequence[np.ndarray]
    ) -> list[np.ndarray | None]:
        raise Unsupported(f"{self.name} has no gradients of gradients")

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Run each op in a pass of its own, so that errors stay separate."""
        found = []
        with self.output.capturing(), self.session(dtype):
            for application, incoming in zip(applications, cotangents, strict=True):
                self.new_graph()
                run = OpRun(self, application, incoming)
                run.backward()
                found.append(run.pullback())
        return found


def methods_called(library: Library, function: Callable[[], object]) -> dict[str, CodeType]:
    """Return the ops, and code, of Python methods that a function calls."""
    known = _codes(library)
    seen: dict[str, CodeType] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in known:
            seen.setdefault(known[frame.f_code], frame.f_code)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
    return seen


def _codes(library: Library) -> dict[CodeType, str]:
    """Return the op of each method and function that is named like an op."""
    words = _words()
    found: dict[CodeType, str] = {}
    for home in reversed(library.modules):
        for owner in reversed(getattr(home, "__mro__", (home,))):
            for name, value in vars(owner).items():
                code = getattr(_function_of(value), "__code__", None)
                is_shared = owner is NDArrayOperatorsMixin  # whose operators are all one code
                if isinstance(code, CodeType) and name in words and not is_shared:
                    found[code] = words[name]
    return found


def _function_of(value: Any) -> Any:
    """Return the function of a property, a method or a registered class.

    `setattr(Tensor, "relu", partialmethod(ReLU.apply, ReLU))` makes all ops of one function."""
    if not isinstance(value, (partial, partialmethod)):
        return getattr(value, "fget", getattr(value, "__func__", value))
    given = (*value.args, getattr(value.func, "__self__", None))
    return next((one.forward for one in given if isinstance(one, type) and hasattr(one, "forward")), value.func)


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    """Return ops by the names of methods; an op's own name wins."""
    table = whole_table()
    found = {word: op.name for op in reversed(table.values()) for word in names_of(op)[1:]}
    found["__array_ufunc__"] = "__array_ufunc__"
    found |= {op.name: op.name for op in table.values()}
    for op in OPERATORS:
        name = _PYTHON.get(op, op)
        found |= {f"__{name}__": op, f"__r{name}__": op}
    return found
