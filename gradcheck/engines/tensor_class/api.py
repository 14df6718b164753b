"""How a Tensor class wants to be made, read and asked for gradients: found out by trying, once."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.errors import said
from gradcheck.errors import Unsupported, UsageError

#: Names of the constructor's flag for gradients, underscores aside; and of flags that mean the opposite.
_FLAGS = ("requiresgrad", "autograd", "requiresgradient", "needsgrad", "needgrad", "trackgrad", "withgrad", "usegrad",
          "computegrad", "isgrad", "hasgrad", "gradenabled", "recordgrad", "tracked", "trainable", "differentiable",
          "isparam", "isparameter", "isleaf")  # fmt: skip
_OPPOSITE_FLAGS = ("constant", "isconstant", "nograd", "frozen", "stopgradient")
_VALUES = ("data", "value", "values", "val", "_data", "_value", "array", "arr", "primal", "v", "x")
_VALUE_METHODS = ("numpy", "asnumpy", "to_numpy", "item", "tolist")
_GRADIENTS = ("grad", "gradient", "_grad", "_gradient", "grads", "adjoint", "derivative", "dv", "g")
_GRADIENT_METHODS = ("get_grad", "get_gradient")
_BACKWARDS = ("backward", "backprop", "backpropagate", "backward_pass", "run_backward", "compute_gradients")
_CLEARING = ("zero_grad", "null_grad", "zero_grad_", "clear_grad", "cleargrad", "reset_grad", "zero_gradient")
_RETAINING = ("retain_graph", "keep_graph", "retain")
#: An image or a batch at a time is not what these are for.
_MISSING = object()


@dataclass(slots=True)
class Style:
    """A class (or a function that makes tensors), and how to talk to what it makes."""

    kind: Callable[..., Any]
    name: str
    tensor_type: type = object
    flag: str = ""
    flag_is_opposite: bool = False
    scalar: bool = False  # it holds one number
    _gradient: str = ""
    _backward: str = ""

    # Making -------------------------------------------------------------------------------------

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        """A new tensor with a copy of the array. Raises whatever the class raises."""
        flags = {self.flag: requires_grad is not self.flag_is_opposite} if self.flag else {}
        if self.scalar:
            return self.kind(array.item(), **flags)
        try:
            tensor = self.kind(array.copy(), **flags)
        except (TypeError, ValueError, AttributeError, AssertionError):
            tensor = self.kind(array.tolist(), **flags)
        return self._marked(tensor, requires_grad)

    def _marked(self, tensor: Any, requires_grad: bool) -> Any:
        if not self.flag and requires_grad and getattr(tensor, "requires_grad", None) is False:
            tensor.requires_grad = True
        return tensor

    # Reading ------------------------------------------------------------------------------------

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.tensor_type)

    def read(self, tensor: Any) -> np.ndarray:
        """Its values; memory may be shared. Raises Unsupported where there are none to be found."""
        if isinstance(tensor, np.ndarray):
            return np.asarray(tensor)
        for candidate in _candidates(tensor, _VALUES, _VALUE_METHODS):
            array = self._plain(candidate)
            if array is not None:
                return array
        array = self._plain(tensor) if hasattr(tensor, "__array__") else None
        if array is None:
            raise Unsupported(f"the values of a {type(tensor).__name__} cannot be read",
                              hint=f"give it one of {', '.join(_VALUES[:4])}, numpy() or __array__()")  # fmt: skip
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
        if isinstance(value, (bool, int, float, complex, np.generic, np.ndarray, list, tuple, memoryview)) or hasattr(
            value, "__array__"
        ):
            array = np.asarray(value)
            return array if array.dtype.kind in "biufcV" else None
        return None

    def gradient(self, tensor: Any) -> Any:
        """What the tensor has for a gradient, in the class's own terms."""
        if self._gradient:
            found = getattr(tensor, self._gradient, None)
        else:
            found = next(_candidates(tensor, _GRADIENTS, _GRADIENT_METHODS), None)
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
        run = getattr(tensor, self._backward)
        retaining = self.retaining
        if retaining and retain_graph is not None:
            run(*seed, **{retaining: retain_graph})
        else:
            run(*seed)

    @property
    def retaining(self) -> str:
        """The parameter by which a graph is kept; empty where there is none."""
        return next((name for name in _RETAINING if name in self._parameters()), "")

    def takes_seed(self) -> bool:
        """Whether `backward` takes an incoming gradient, as far as its signature tells."""
        others = [name for name in self._parameters() if name not in (*_RETAINING, "create_graph")]
        return bool(others)

    def _parameters(self) -> list[str]:
        try:
            signature = inspect.signature(getattr(self.tensor_type, self._backward))
        except (TypeError, ValueError):
            return ["gradient"]
        return list(signature.parameters)[1:]

    def set_gradient(self, tensor: Any, gradient: Any, clearing: bool) -> None:
        """Put a gradient there; where it cannot be assigned, it can be cleared at best."""
        name = self._gradient or next((n for n in _GRADIENTS if hasattr(tensor, n)), "grad")
        try:
            setattr(tensor, name, copy.copy(gradient))
        except AttributeError:
            for method in _CLEARING if clearing else ():
                if callable(getattr(tensor, method, None)):
                    getattr(tensor, method)()
                    return
            raise Unsupported(f"the gradient of a {type(tensor).__name__} cannot be set or cleared",
                              lacks="gradients that can be set") from None  # fmt: skip


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


def style_of(kind: Callable[..., Any], name: str) -> Style:
    """The style of a class. Raises UsageError where it is no Tensor class."""
    style = Style(kind, name)
    style.flag, style.flag_is_opposite = _flag(kind)
    made = _first(style)
    style.tensor_type = kind if isinstance(kind, type) and isinstance(made, kind) else type(made)
    style._backward = next((n for n in _BACKWARDS if callable(getattr(style.tensor_type, n, None))), "")
    if not style._backward:
        raise UsageError(f"{name} has no backward(), so it is no engine",
                         hint="name a Tensor class, or an object with evaluate() and pull_back()")  # fmt: skip
    style._gradient = next((n for n in _GRADIENTS if hasattr(made, n)), "")
    style.scalar = style.scalar or not _holds_arrays(style)
    return style


def _flag(kind: Callable[..., Any]) -> tuple[str, bool]:
    try:
        parameters = list(inspect.signature(kind).parameters.values())[1:]
    except (TypeError, ValueError):
        return "", False
    for parameter in parameters:
        plain = parameter.name.lower().replace("_", "")
        if plain in _FLAGS:
            return parameter.name, False
        if plain in _OPPOSITE_FLAGS:
            return parameter.name, True
    for parameter in parameters:
        if "grad" in parameter.name.lower() and isinstance(parameter.default, bool):
            return parameter.name, False
    return "", False


def _first(style: Style) -> Any:
    """A tensor of a few numbers, or, where the class takes one number only, of one."""
    try:
        return style.make(np.array([[0.5, 0.25, 2.0], [1.0, 3.0, 0.75]]), True)
    except Exception as error:
        style.scalar = True
        try:
            return style.make(np.array(0.5), True)
        except Exception:
            text = f"{style.name} cannot be made from an array: {said(error)}"
            raise UsageError(text, hint="its first argument must be the data") from error


def _holds_arrays(style: Style) -> bool:
    """Whether the class is made for tensors: a container that keeps whatever it is given is not enough."""
    tensor = style.make(np.array([[0.5, 0.25, 2.0], [1.0, 3.0, 0.75]]), True)
    try:
        if style.read(tensor).shape != (2, 3):
            return False
    except Unsupported:
        return False
    kind = style.tensor_type
    tells = ("sum", "__matmul__", "dot", "mm", "matmul", "mean", "reshape", "__getitem__", "T", "transpose", "shape")
    return any(hasattr(kind, name) for name in tells) or hasattr(tensor, "shape")
