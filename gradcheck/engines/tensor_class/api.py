"""The interface of one Tensor class: making tensors, reading them, passes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, cast

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.fed_graph import FedGraph
from gradcheck.engines.tensor_class.members import (
    FreshTensor,
    array_of,
    candidates,
    copied,
    is_related_type,
    method_of,
    modules_of,
    read_fallback_values,
    realized_if_unset,
    set_attribute,
)
from gradcheck.engines.tensor_class.pass_lookup import passes_of
from gradcheck.engines.tensor_class.pass_runners import PassRunner, ReturnedGradients
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, signature_parameters
from gradcheck.errors import Unsupported


@dataclass(slots=True)
class Api:
    """A class, or a function that makes tensors, and the way to use it.

    tensor_type         the class of the constructor's tensors
    base_type           the class of all its tensors: ops may return another class than that of their operands
    grad_flag           the constructor's parameter for gradients, or ""
    grad_flag_value     its value for a tensor with a gradient
    keeping_flag        another parameter of the constructor, by which a tensor keeps its gradient, or ""
    grad_flags          all candidates for the flag with their values, the likeliest first
    data_name           the constructor's parameter for the data, if it is not the only required one
    other_arguments     functions that make the other required arguments, by parameter
    values_names        the attribute with the values, if it is in no table
    gradient_name       the attribute with the gradient; "" if it is looked up for each tensor
    gradient_field      the attribute behind a property of that name, which may compute a gradient before any pass
    backward_name       the method that runs a backward pass
    pass_type           the class with that method, if leaves have none and results of ops do
    is_scalar           whether a tensor holds one number, and is made from one
    needs_lists         whether tensors are made from lists
    needs_arrays        whether a single number must be an array, too
    storage             the attribute with an array of the user's own that holds the values; "" for a NumPy array
    clearing_name       its own method that clears one tensor's gradient; "" if gradients are assigned
    pass_runner         the function that runs a whole pass, if the method does not
    module              the named module, which may have its class from another one
    returned_gradients  gradients that passes have returned
    related_types       for other classes, whether their objects are tensors, too
    leaves              the leaves of the current graph that need a gradient
    has_run_pass        whether a pass has run since a gradient was cleared
    failed_passes       how many passes have raised since it was learned
    gives_tensors       whether the last gradient that was read is a tensor, too"""

    constructor: Callable[..., Any]
    name: str
    tensor_type: type = object
    base_type: type = object
    grad_flag: str = ""
    grad_flag_value: bool = True
    keeping_flag: str = ""
    grad_flags: tuple[tuple[str, bool], ...] = (("", True),)
    data_name: str = ""
    other_arguments: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    values_names: tuple[str, ...] = ()
    gradient_name: str = ""
    gradient_field: str = ""
    backward_name: str = ""
    pass_type: type | None = None
    is_scalar: bool = False
    needs_lists: bool = False
    needs_arrays: bool = False
    storage: str = ""
    clearing_name: str = ""
    pass_runner: PassRunner | None = None
    module: ModuleType | None = None
    returned_gradients: ReturnedGradients = field(default_factory=ReturnedGradients)
    related_types: dict[type, bool] = field(default_factory=dict)
    leaves: Callable[[], list[Any]] = list
    has_run_pass: bool = False
    failed_passes: int = 0
    gives_tensors: bool = False

    # Making -------------------------------------------------------------------------------------

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        """Return a new tensor with a copy of the array."""
        flags = {self.grad_flag: requires_grad is self.grad_flag_value} if self.grad_flag else {}
        flags |= {self.keeping_flag: True} if self.keeping_flag and requires_grad else {}
        return self._marked(self._unmarked(array, flags), requires_grad)

    def _unmarked(self, array: np.ndarray, flags: Mapping[str, bool]) -> Any:
        if self.is_scalar or self.needs_lists:
            return self.construct(array.item() if self.is_scalar else array.tolist(), flags)
        try:
            if array.ndim == 0 and array.dtype == np.float64 and not self.needs_arrays:
                return self._of_number(array, flags)
            return self.construct(np.array(array), flags)
        except USER_EXCEPTIONS:
            return self.construct(array.tolist(), flags)

    def construct(self, data: Any, flags: Mapping[str, bool]) -> Any:
        """Call the constructor with the data."""
        if not self.data_name:
            return self.constructor(data, **flags)
        others = {name: make() for name, make in self.other_arguments.items()}
        return self.constructor(**others, **{self.data_name: data}, **flags)

    def _of_number(self, array: np.ndarray, flags: Mapping[str, bool]) -> Any:
        """Return a tensor of one number, from Python's if the class takes it."""
        with suppress(*USER_EXCEPTIONS):
            tensor = self.construct(array.item(), flags)
            if self.tensor_type is object or self.read(tensor).dtype == array.dtype:
                return tensor
        return self.construct(np.array(array), flags)

    def _marked(self, tensor: Any, requires_grad: bool) -> Any:
        for mark in dialects.MARKS if requires_grad and not self.grad_flag else ():
            with suppress(AttributeError):  # it may be computed
                if getattr(tensor, mark, None) is False:
                    setattr(tensor, mark, True)
        ask = method_of(tensor, dialects.GRAD_MARK_METHODS) if requires_grad and not self.grad_flag else None
        if ask is not None:
            ask(True)
        return tensor

    # Reading ------------------------------------------------------------------------------------

    def is_tensor(self, value: Any) -> bool:
        """Return whether a value is one of the class's tensors."""
        if isinstance(value, self.base_type):
            return self.base_type is not object
        kind = type(value)
        if kind not in self.related_types:
            self.related_types[kind] = is_related_type(kind, self.tensor_type, self.backward_name)
        return self.related_types[kind]

    def read(self, tensor: Any) -> np.ndarray:
        """Return a tensor's values, which may share memory. Raises Unsupported."""
        if isinstance(tensor, np.ndarray):
            return np.asarray(tensor)
        if isinstance(self.constructor, FedGraph):
            return self.constructor.values(tensor)
        problem: BaseException | None = None
        try:
            for candidate in candidates(tensor, (*self.values_names, *dialects.VALUES), dialects.VALUE_METHODS):
                array = self.plain(candidate)
                if array is not None:
                    return realized_if_unset(array, tensor, self.plain)
        except USER_EXCEPTIONS as error:  # another may give them still
            problem = error
        array = read_fallback_values(tensor, self.plain)
        if array is None and isinstance(problem, RecursionError):
            raise problem
        if array is None:
            hint = f"give it one of {', '.join(dialects.VALUES[:4])}, numpy() or __array__()"
            raise Unsupported(f"the values of a {type(tensor).__name__} cannot be read", hint=hint)
        return array

    def plain(self, value: Any) -> np.ndarray | None:
        """Return a number, an array or a list of them as an array, else None."""
        for _ in range(4):  # data may be a tensor again, as torch's is
            if not self.is_tensor(value) or isinstance(value, np.ndarray):
                break
            inner = getattr(value, "data", value)
            if inner is value or type(inner) is type(value):
                break
            value = inner
        known = (bool, int, float, complex, np.generic, np.ndarray, list, tuple, memoryview)
        if not isinstance(value, known) and not hasattr(value, "__array__"):
            return None if self.is_tensor(value) else array_of(value)
        try:
            array = np.asarray(value)
        except USER_EXCEPTIONS:  # a ragged list, or an array that raises
            return None
        return array if array.dtype.kind in "biufcV" else None

    def gradient(self, tensor: Any) -> Any:
        """Return the tensor's gradient in the class's own form; None without one."""
        runner = self.pass_runner
        if runner is not None and runner.returns_gradients:
            return self.returned_gradients.of(tensor)
        field_ = self.gradient_field if runner is None else runner.attribute
        if field_ and not self.has_run_pass:
            return getattr(tensor, field_, None)  # a property would compute its gradient, and keep it
        try:
            names = () if self.gradient_name else dialects.GRADIENTS
            found = getattr(tensor, self.gradient_name or "_", None)
            if not self.gradient_name or (found is None and self.keeps_first_gradient):  # a method may compute it
                found = next(candidates(tensor, names, dialects.GRADIENT_METHODS), None)
            found = found() if callable(found) and not self.is_tensor(found) else found
        except USER_EXCEPTIONS as error:
            if field_ and isinstance(error, RecursionError):  # of the computed gradient
                raise
            found = None
        return self.returned_gradients.of(tensor) if found is None else found

    def gradient_array(self, tensor: Any) -> np.ndarray | None:
        """Return the tensor's gradient as an array; None without one."""
        if (found := self.gradient(tensor)) is None:
            return None
        self.gives_tensors = self.is_tensor(found)
        return self._as_array(found)

    def keeps_tensors(self, tensor: Any) -> bool:
        """Return whether its gradient, or the last that was read, is a tensor."""
        return self.gives_tensors if (found := self.gradient(tensor)) is None else self.is_tensor(found)

    def _as_array(self, gradient: Any) -> np.ndarray | None:
        return self.read(gradient) if self.is_tensor(gradient) else self.plain(gradient)

    # Gradients ----------------------------------------------------------------------------------

    def backward(self, tensor: Any, *seed: Any, keyword: str = "", retain_graph: bool | None = None) -> None:
        """Run the class's own pass, with the gradient given by `keyword`, if any."""
        named: dict[str, Any] = {keyword: seed[0]} if keyword and seed else {}
        seed = () if named else seed
        if retain_graph is not None:
            named |= {name: keeps is retain_graph for name, keeps in self.keeping_arguments.items()}
        self.has_run_pass = True
        self.failed_passes += 1
        method = self.backward_name  # perhaps the object's own
        runner = self.pass_runner or PassRunner(lambda root, *seed, **named: getattr(root, method)(*seed, **named))
        given = runner.run(tensor, self.leaves(), seed, named)
        self.failed_passes -= 1
        self.returned_gradients.add(given, self.is_tensor, self._as_array)

    @property
    def pass_function(self) -> Callable[..., Any]:
        """The function or method that begins a pass."""
        runner, kind = self.pass_runner, self.pass_type or self.tensor_type
        return runner.function if runner else cast(Callable[..., Any], getattr(kind, self.backward_name))

    def begin_graph(self) -> None:
        """Clear returned gradients, and begin a tape."""
        self.returned_gradients.clear()
        self.has_run_pass = False
        if self.pass_runner is not None:
            self.pass_runner.begin()

    def use_pass(self, runner: PassRunner | None) -> None:
        """Run passes by this function from now on; by the tensor's method if None."""
        if self.pass_runner is not None:
            self.pass_runner.end()
        self.pass_runner = runner

    def modules(self, *further: str) -> list[ModuleType]:
        """Return modules that may have functions on tensors, `further` first."""
        homes = dict.fromkeys(getattr(thing, "__module__", "") or "" for thing in (self.constructor, self.tensor_type))
        homes |= {self.module.__name__: None} if self.module is not None else {}
        return modules_of(list(homes), (*further, *dialects.SUBMODULES), (*further, *dialects.NEIGHBOURS))

    def passes(self) -> Iterator[PassRunner]:
        """Yield functions that may run a whole pass, importing likely modules."""
        own = sys.modules.get(getattr(self.tensor_type, "__module__", ""))
        homes = dict.fromkeys((self.module, own, *self.modules(*dialects.PASS_MODULES)))
        made = self.make(np.array(0.5 if self.is_scalar else [0.5]), True)
        return passes_of(self.tensor_type, made, self.gradient_name, [home for home in homes if home is not None])

    @property
    def keeping_arguments(self) -> dict[str, bool]:
        """The arguments of `backward` that keep the graph, and its gradients."""
        return {name: dialects.KEEPING[name] for name in self._parameters() if name in dialects.KEEPING}

    def seed_keywords(self) -> list[str]:
        """Return parameters for an incoming gradient, "" for the first."""
        names = self._parameters()
        takes_any = any(name not in dialects.NO_SEEDS for name in names)
        return ["", *(name for name in names[1:] if name in dialects.SEEDS)] if takes_any else []

    def _parameters(self) -> list[str]:
        if self.pass_runner is not None:
            return self.pass_runner.parameters()
        found = signature_parameters(self.pass_function)
        return ["gradient"] if found is None else [parameter.name for parameter in found[1:]]

    @property
    def keeps_first_gradient(self) -> bool:
        """True if a gradient never changes after it has been read."""
        return self.pass_runner is not None and bool(self.pass_runner.attribute)

    def is_view(self, tensor: Any) -> bool:
        """Return whether a tensor shares another's memory, and gradient."""
        return any(self.is_tensor(getattr(tensor, name, None)) for name in dialects.BASES)

    def initial_gradient(self, tensor: Any) -> Any:
        """Return a copy of a tensor's gradient before any pass."""
        found = self.gradient(tensor)
        return FreshTensor(self.read(found).copy()) if self.is_tensor(found) else copied(found)

    def set_gradient(self, tensor: Any, gradient: Any, clearing: bool) -> None:
        """Set a copy of a gradient, or clear it. Raises Unsupported."""
        if self.returned_gradients.put(tensor, gradient if isinstance(gradient, np.ndarray) else None):
            return
        runner, self.has_run_pass = self.pass_runner, self.has_run_pass and not clearing
        if runner is not None and runner.returns_gradients and clearing:
            return
        name = self.gradient_name or next((n for n in dialects.GRADIENTS if hasattr(tensor, n)), "grad")
        name = runner.attribute if runner is not None and runner.attribute else name
        name = self.gradient_field if runner is None and clearing and self.gradient_field else name
        if clearing and self.clearing_name:
            with suppress(*USER_EXCEPTIONS):
                getattr(tensor, self.clearing_name)()
                return
        if isinstance(gradient, FreshTensor):
            gradient = self.make(gradient.array, False)
        elif isinstance(gradient, np.ndarray):
            gradient = self.stored(gradient)
        try:
            like = getattr(self.gradient(tensor), "new_tensor", None)  # torch's arrays stay torch's
            keep = copied if like is None or not isinstance(gradient, np.ndarray) else like
            set_attribute(tensor, name, keep(gradient))
        except AttributeError:
            clear = method_of(tensor, dialects.CLEARING_METHODS) if clearing else None
            if clear is None:
                message = f"the gradient of a {type(tensor).__name__} cannot be set or cleared"
                raise Unsupported(message, lacks="gradients that can be set") from None
            clear()

    def stored(self, array: np.ndarray) -> Any:
        """Return a copy of an array in the class's own kind of array."""
        if self.is_scalar or not self.storage:
            return array.copy()
        return getattr(self.make(array, False), self.storage)
