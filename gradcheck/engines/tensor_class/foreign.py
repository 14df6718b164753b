"""What is the same for every library that gradcheck did not write: whatever it does costs no more than one case."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import Op
from gradcheck.engines.base import Application, Cotangents, Evaluation, Pullback, as_tensor_error
from gradcheck.engines.define_by_run import DefineByRun, OpRun
from gradcheck.engines.perturbation import Perturbation
from gradcheck.engines.recording import Recorder
from gradcheck.engines.tensor_class.call_forms import Form, Library, Shape
from gradcheck.engines.tensor_class.errors import EngineError, as_asked, translating
from gradcheck.engines.tensor_class.output import Output
from gradcheck.engines.tensor_class.wrapper import Owner, WrappedTensor
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.problem import Problem

#: Seconds for each case, unless the run says otherwise: somebody's engine may loop for ever.
TIMEOUT = 20.0


class ForeignEngine(DefineByRun, Owner):
    """Somebody's library as an engine whose tensors are wrapped.

    A subclass provides `make`, `is_tensor`, `values`, `backward` and what a wrapped tensor asks of its `Owner`; it may
    extend `new_graph`, `called` and `rehearse`.
    """

    tensor_type = WrappedTensor

    def __init__(self, name: str, constructor_name: str, library: Library) -> None:
        """`constructor_name` is what makes a tensor, in messages."""
        self.name, self.constructor_name, self.library = name, constructor_name, library
        self.host = _Host(self)
        self.timeout = TIMEOUT
        self.output = Output()
        self._given: list[tuple[np.ndarray, WrappedTensor]] = []  # leaves of this graph, and what they were made from

    # What a library provides --------------------------------------------------------------------

    @abstractmethod
    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        """One of the library's tensors with a copy of the array. Raises whatever the library raises."""

    @abstractmethod
    def is_tensor(self, value: Any) -> bool:
        """Whether it is one of the library's tensors."""

    @abstractmethod
    def values(self, tensor: Any) -> np.ndarray:
        """The values of one of the library's tensors; memory may be shared."""

    def new_graph(self) -> None:
        """A graph is begun: forget the last."""
        self._given = []

    def called(self, result: WrappedTensor, op: Op, form: Form, bound: tuple[Any, ...], shape: Shape) -> None:
        """An op has been called in this form, with these arguments; its result has this shape, for ops in `SHAPED`."""

    def rehearse(self, form: Form, given: list[Any], shape: Shape) -> None:
        """Raise whatever a form that computes would raise in a backward pass, where that is no failure but a lack."""

    # Tensors ------------------------------------------------------------------------------------

    def new(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """A tensor of the library. Raises Unsupported where it has no such dtype, or shape."""
        what = self.constructor_name
        try:
            with translating(f"{what}(array of shape {list(array.shape)}, {array.dtype})"):
                tensor = self.make(array, requires_grad)
                values = self.values(tensor)
        except EngineError as error:
            if array.dtype == np.float64:
                raise
            raise Unsupported(error.message, lacks=array.dtype.name) from error
        if values.dtype != array.dtype:
            message = f"{what} keeps numbers in {values.dtype}, not {array.dtype}"
            raise Unsupported(message, hint=f"run with --dtype {values.dtype}", lacks=array.dtype.name)
        if values.shape != array.shape:
            message = f"{what} makes a tensor of shape {list(values.shape)} from {list(array.shape)}"
            raise Unsupported(message, lacks=f"tensors of {array.ndim} dimensions")
        return self.wrap(tensor, values, requires_grad)

    def wrap(self, tensor: Any, values: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """One of the library's tensors, with a copy of its values."""
        return WrappedTensor(self, tensor, np.array(values), requires_grad)

    def constant(self, array: np.ndarray) -> WrappedTensor:
        """A value that NumPy alone knows."""
        return WrappedTensor(self, None, array)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """A tensor of the library; an index or a mask stays an array."""
        if not dtypes.is_differentiable(array.dtype):
            return self.constant(array)
        made = self.new(array, requires_grad)
        self._given.append((array, made))
        return made

    def array(self, tensor: Any) -> np.ndarray:
        """The values of a tensor when it was made; a gradient is an array already."""
        return tensor.array if type(tensor) is WrappedTensor else np.asarray(tensor)

    def current(self, tensor: WrappedTensor) -> np.ndarray:
        """The values that the library has for a tensor by now."""
        with translating("reading its values"):
            return tensor.array if tensor.tensor is None else np.array(self.values(tensor.tensor))

    def native(self, op: Op, value: Any, fresh: bool = False) -> Any:
        """An argument as the library takes it: its tensors, arrays for indices and masks, plain settings. `fresh`:
        arrays become leaves of their own that require a gradient."""
        if type(value) is WrappedTensor:
            return self._native_array(op, value.array, False) if value.tensor is None else value.tensor
        if isinstance(value, np.ndarray):
            return self._native_array(op, value, fresh)
        if isinstance(value, (list, tuple)):
            return type(value)([self.native(op, item, fresh) for item in value])
        return value

    def _native_array(self, op: Op, array: np.ndarray, requires_grad: bool) -> Any:
        if dtypes.is_differentiable(array.dtype):
            return self.new(array, requires_grad).tensor
        if (op.elementwise and not op.masked and array.dtype.kind in "iu") or op.uniform:
            return self.new(array.astype(np.float64), False).tensor
        return array

    def read(self, result: Any) -> np.ndarray | None:
        """The values of one of the library's tensors; None for anything else."""
        return np.asarray(self.values(result)) if self.is_tensor(result) else None

    # An engine ----------------------------------------------------------------------------------

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """Numbers without a dtype take the case's."""
        return using_default_dtype(dtypes.real_of(dtype))

    def evaluate(
        self, problem: Problem, perturbation: Perturbation | None = None, recorder: Recorder | None = None
    ) -> Evaluation:
        """As any define-by-run engine does; what the library raises is taken for what the case asks it to raise, and
        what it does to its inputs is noted."""
        self.new_graph()
        with self.output.capturing():
            try:
                found = as_asked(problem.case, super().evaluate(problem, perturbation, recorder))
            except GradcheckError as error:  # not even the inputs could be made
                found = Evaluation(self.name, (), as_tensor_error(error), next(iter(problem.inputs), ""))
            return replace(found, changed=self._changed(problem))

    def _changed(self, problem: Problem) -> dict[str, np.ndarray]:
        """Inputs and constants that are no longer what they were."""
        names = {id(array): name for name, array in (*problem.inputs.items(), *problem.constants.items())}
        found = {}
        for array, made in self._given:
            name = names.get(id(array))
            now = self.current(made) if name else array
            if name and not np.array_equal(now, array, equal_nan=array.dtype.kind in "fc"):
                found[name] = now
        return found

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Each op in a backward pass of its own, so that the trouble of one is not another's."""
        found = []
        with self.output.capturing(), self.session(dtype):
            for application, incoming in zip(applications, cotangents, strict=True):
                self.new_graph()
                run = OpRun(self, application, incoming)
                run.backward()
                found.append(run.pullback())
        return found


class _Host:
    """Applies the ops of expressions."""

    def __init__(self, engine: ForeignEngine) -> None:
        self._engine = engine

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result."""
        return self._engine.apply(op, op.bind(args, kwargs))

    def dtype(self, name: str) -> np.dtype:
        """NumPy's dtype of this torch name."""
        return dtypes.BY_NAME[name]
