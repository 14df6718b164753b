"""How one Tensor class is made, read and asked for gradients: found out by trying the words of `dialects`, once."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.guard import said
from gradcheck.errors import Unsupported, UsageError

_MISSING = object()
#: What a class that is looked at is made of.
_SAMPLE = np.array([[0.5, 0.25, 2.0], [1.0, 3.0, 0.75]])
#: A class that has one of these is made for tensors, and not for single numbers.
_ARRAY_LIKE = ("sum", "__matmul__", "dot", "mm", "matmul", "mean", "reshape", "__getitem__", "T", "transpose", "shape")


@dataclass(slots=True)
class Api:
    """A class (or a function that makes tensors), and how to talk to what it makes.

    flag             the constructor's parameter for gradients; empty where there is none
    flag_if_wanted   its value where a gradient is wanted
    gradient_name    the attribute with the gradient; empty where it is found out tensor by tensor
    backward_name    the method that runs a backward pass
    scalar           whether it holds one number, and is made from one
    """

    constructor: Callable[..., Any]
    name: str
    tensor_type: type = object
    flag: str = ""
    flag_if_wanted: bool = True
    gradient_name: str = ""
    backward_name: str = ""
    scalar: bool = False

    # Making -------------------------------------------------------------------------------------

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        """A new tensor with a copy of the array. Raises whatever the class raises."""
        flags = {self.flag: requires_grad is self.flag_if_wanted} if self.flag else {}
        if self.scalar:
            return self.constructor(array.item(), **flags)
        try:
            tensor = self.constructor(array.copy(), **flags)
        except (TypeError, ValueError, AttributeError, AssertionError):
            tensor = self.constructor(array.tolist(), **flags)
        if requires_grad and not self.flag:
            for mark in dialects.MARKS:
                if getattr(tensor, mark, None) is False:
                    setattr(tensor, mark, True)
        return tensor

    # Reading ------------------------------------------------------------------------------------

    def is_tensor(self, value: Any) -> bool:
        """Whether it is one of the class's tensors."""
        return isinstance(value, self.tensor_type)

    def read(self, tensor: Any) -> np.ndarray:
        """Its values; memory may be shared. Raises Unsupported where there are none to be found."""
        if isinstance(tensor, np.ndarray):
            return np.asarray(tensor)
        for candidate in _candidates(tensor, dialects.VALUES, dialects.VALUE_METHODS):
            array = self._plain(candidate)
            if array is not None:
                return array
        array = self._plain(tensor) if hasattr(tensor, "__array__") else None
        if array is None:
            hint = f"give it one of {', '.join(dialects.VALUES[:4])}, numpy() or __array__()"
            raise Unsupported(f"the values of a {type(tensor).__name__} cannot be read", hint=hint)
        return array

    def _plain(self, value: Any) -> np.ndarray | None:
        """A number, an array or a list of them as an array; None for anything else."""
        for _ in range(4):  # data may be a tensor again, as torch's is
            if not self.is_tensor(value) or isinstance(value, np.ndarray):
                break
            inner = getattr(value, "data", value)
            if inner is value or type(inner) is type(value):
                break
            value = inner
        known = (bool, int, float, complex, np.generic, np.ndarray, list, tuple, memoryview)
        if not isinstance(value, known) and not hasattr(value, "__array__"):
            return None
        array = np.asarray(value)
        return array if array.dtype.kind in "biufcV" else None

    def gradient(self, tensor: Any) -> Any:
        """What the tensor has for a gradient, in the class's own terms."""
        if self.gradient_name:
            found = getattr(tensor, self.gradient_name, None)
        else:
            found = next(_candidates(tensor, dialects.GRADIENTS, dialects.GRADIENT_METHODS), None)
        return found() if callable(found) and not self.is_tensor(found) else found

    def gradient_array(self, tensor: Any) -> np.ndarray | None:
        """The same as an array."""
        found = self.gradient(tensor)
        if found is None:
            return None
        return self.read(found) if self.is_tensor(found) else self._plain(found)

    # Gradients ----------------------------------------------------------------------------------

    def backward(self, tensor: Any, *seed: Any, retain_graph: bool | None = None) -> None:
        """The class's own backward pass. Raises whatever it raises."""
        run, retaining = getattr(tensor, self.backward_name), self.retaining
        if retaining and retain_graph is not None:
            run(*seed, **{retaining: retain_graph})
        else:
            run(*seed)

    @property
    def retaining(self) -> str:
        """The parameter by which a graph is kept; empty where there is none."""
        return next((name for name in dialects.RETAINING if name in self._parameters()), "")

    def takes_seed(self) -> bool:
        """Whether `backward` takes an incoming gradient, as far as its signature tells."""
        return any(name not in dialects.NO_SEEDS for name in self._parameters())

    def _parameters(self) -> list[str]:
        try:
            signature = inspect.signature(getattr(self.tensor_type, self.backward_name))
        except (TypeError, ValueError):
            return ["gradient"]
        return list(signature.parameters)[1:]

    def keep_gradient(self, tensor: Any) -> None:
        """Tell a tensor that is no leaf to keep its gradient, if it can be told. Raises whatever the class raises."""
        keep = method_of(tensor, dialects.KEEPING)
        if keep is not None:
            keep()

    def is_view(self, tensor: Any) -> bool:
        """Whether it shares another's memory, and gradient."""
        return any(self.is_tensor(getattr(tensor, name, None)) for name in dialects.BASES)

    def set_gradient(self, tensor: Any, gradient: Any, clearing: bool) -> None:
        """Put a gradient there; where it cannot be assigned, it can be cleared at best. Raises Unsupported."""
        name = self.gradient_name or next((n for n in dialects.GRADIENTS if hasattr(tensor, n)), "grad")
        try:
            setattr(tensor, name, copy.copy(gradient))
        except AttributeError:
            clear = method_of(tensor, dialects.CLEARING) if clearing else None
            if clear is None:
                message = f"the gradient of a {type(tensor).__name__} cannot be set or cleared"
                raise Unsupported(message, lacks="gradients that can be set") from None
            clear()


def method_of(tensor: Any, names: tuple[str, ...]) -> Callable[..., Any] | None:
    """The first method of these names; None where there is none."""
    methods = (getattr(tensor, name, None) for name in names)
    return next((method for method in methods if callable(method)), None)


def _candidates(tensor: Any, names: tuple[str, ...], methods: tuple[str, ...]) -> Iterator[Any]:
    for name in names:
        found = getattr(tensor, name, _MISSING)
        if found is not _MISSING:
            yield found() if callable(found) and not hasattr(found, "__array__") else found
    for name in methods:
        found = getattr(tensor, name, None)
        if callable(found):
            yield found()


# Finding out ----------------------------------------------------------------------------------------


def api_of(constructor: Callable[..., Any], name: str) -> Api:
    """How a class, or a function that makes tensors, is used. Raises UsageError where it is no Tensor class."""
    api = Api(constructor, name)
    api.flag, api.flag_if_wanted = _flag(constructor)
    made = _first(api)
    api.tensor_type = type(made)
    if isinstance(constructor, type) and isinstance(made, constructor):
        api.tensor_type = constructor  # what ops return may be of another of its subclasses
    backwards = (name for name in dialects.BACKWARDS if callable(getattr(api.tensor_type, name, None)))
    api.backward_name = next(backwards, "")
    if not api.backward_name:
        hint = "name a Tensor class, or an object with evaluate() and pull_back()"
        raise UsageError(f"{name} has no backward(), so it is no engine", hint=hint)
    api.gradient_name = next((n for n in dialects.GRADIENTS if hasattr(made, n)), "")
    api.scalar = api.scalar or not _holds_arrays(api)
    return api


def _flag(constructor: Callable[..., Any]) -> tuple[str, bool]:
    """The constructor's parameter for gradients, and its value where one is wanted."""
    try:
        parameters = list(inspect.signature(constructor).parameters.values())[1:]
    except (TypeError, ValueError):
        return "", True
    for parameter in parameters:
        plain = parameter.name.lower().replace("_", "")
        if plain in (*dialects.FLAGS, *dialects.OPPOSITE_FLAGS):
            return parameter.name, plain in dialects.FLAGS
    for parameter in parameters:
        if "grad" in parameter.name.lower() and isinstance(parameter.default, bool):
            return parameter.name, True
    return "", True


def _first(api: Api) -> Any:
    """A tensor of a few numbers, or, where the class takes one number only, of one; it is then `scalar`."""
    try:
        return api.make(_SAMPLE, True)
    except Exception as error:
        api.scalar = True
        try:
            return api.make(np.array(0.5), True)
        except Exception:
            message = f"{api.name} cannot be made from an array: {said(error)}"
            raise UsageError(message, hint="its first argument must be the data") from error


def _holds_arrays(api: Api) -> bool:
    """Whether the class is made for tensors: a container that keeps whatever it is given is not enough."""
    tensor = api.make(_SAMPLE, True)
    try:
        if api.read(tensor).shape != _SAMPLE.shape:
            return False
    except Unsupported:
        return False
    return any(hasattr(api.tensor_type, name) for name in _ARRAY_LIKE) or hasattr(tensor, "shape")
