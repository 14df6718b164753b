"""The kinds of user code, and one way to call them on torch's tensors."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from typing import Any

import numpy as np
import torch

from gradcheck.engines.implementation.call_arguments import leaves_of
from gradcheck.engines.implementation.code_loading import name_of
from gradcheck.engines.implementation.foreign_function import ForeignFunction
from gradcheck.engines.implementation.layer_parameters import arrays_of_object
from gradcheck.engines.implementation.mentioned_code import constants_in, filled_cells, library_of
from gradcheck.engines.implementation.module_parameters import holder_of, parameter_arrays, parameter_names
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, error_line
from gradcheck.errors import UsageError


@dataclass
class Code:
    """A callable of user code.

    kind        `torch`, `function` (one of `torch.autograd.Function`'s), `module`, `jax`, `hips`, `numpy`
    signature   the function whose parameters are its arguments
    call        the callable on torch's tensors, for the torch kinds
    foreign     the callable of another library
    parameters  a module's or layer's own that require a gradient, by name
    unchecked   a layer's own whose gradients have no place
    module      the module, or one that holds all modules that a function mentions
    function    the class of a `Function`
    around      the context of each call"""

    kind: str
    signature: Callable[..., Any]
    call: Callable[..., Any] | None = None
    foreign: ForeignFunction | None = None
    parameters: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    module: Any = None
    function: type | None = None
    around: Callable[[], AbstractContextManager[None]] = nullcontext

    @property
    def is_torch(self) -> bool:
        """True if torch itself differentiates it."""
        return self.foreign is None

    def parameter_values(self) -> dict[str, np.ndarray]:
        """Return arrays of its own parameters, by name."""
        if self.foreign is not None:
            return self.foreign.parameter_arrays() if self.parameters else {}  # type: ignore[attr-defined]
        return {} if self.module is None else parameter_arrays(self.module)

    @property
    def instance(self) -> Any:
        """The module or layer that is called, or None."""
        return self.module if self.foreign is None else getattr(self.foreign, "owner", None)

    @property
    def keeps_state(self) -> bool:
        """True for a layer that stores its backward's needs: one call at a time."""
        return bool(getattr(self.foreign, "keeps_state", False))

    @cached_property
    def constants(self) -> tuple[float, ...]:
        """The numbers that its code mentions."""
        backward = getattr(self.foreign, "backward", None)
        parts = [self.signature, backward, *_methods(self.function), *_methods(self.module)]
        return tuple(dict.fromkeys(number for part in parts if callable(part) for number in constants_in(part)))

    @property
    def place(self) -> tuple[str, int]:
        """Its file and line; "" and 0 if unknown."""
        try:
            found = _without_wrapper(inspect.unwrap(self.function or self.signature))
            return inspect.getsourcefile(found) or "", inspect.getsourcelines(found)[1]
        except (TypeError, OSError):
            return "", 0


def _without_wrapper(found: Any) -> Any:
    """Return the function of whose name a wrapper is, as HIPS's primitives."""
    if not inspect.isfunction(found) or found.__code__.co_name == found.__name__:
        return found
    inner = filled_cells(found).values()
    return next((one for one in inner if inspect.isfunction(one) and one.__name__ == found.__name__), found)


def code_of(found: Any, backward: Any, name: str, several: int | None = None) -> Code:
    """Return an object's kind. Raises UsageError if it cannot be called.

    `several` is the number of tensors of the entry; None if unknown."""
    if backward is None and isinstance(found, type) and (issubclass(found, torch.nn.Module) or _is_layer(found)):
        found = _made(found, name)
    if backward is None and _is_layer(found):
        found, backward = getattr(found, "forward", found), found.backward
    if backward is not None:
        return _pair_of(found, backward, name, several)
    if isinstance(found, torch.nn.Module):
        return Code("module", found.forward, call=found, parameters=parameter_names(found), module=found)
    function = _function_of(found)
    if function is not None:
        return Code("function", _forward_of(function), call=function.apply, function=function)
    if not callable(found):
        raise UsageError(f"{name} is a {type(found).__name__}, nothing that can be called")
    library = library_of(found)
    if library == "jax":
        from gradcheck.engines.implementation.jax_function import JaxFunction

        return Code("jax", found, foreign=JaxFunction(found), unchecked=arrays_of_object(found))
    if library == "autograd":
        from gradcheck.engines.implementation.hips_function import HipsFunction

        return Code("hips", found, foreign=HipsFunction(found), unchecked=arrays_of_object(found))
    holder = holder_of(found)
    names = () if holder is None else parameter_names(holder)
    return Code("torch", found, call=found, parameters=names, module=holder if names else None)


def _is_layer(found: Any) -> bool:
    """Return whether an object or class has a forward and a backward."""
    kind = found if isinstance(found, type) else type(found)
    if issubclass(kind, (torch.autograd.Function, types.FunctionType)):
        return False
    if issubclass(kind, torch.nn.Module):  # which has none by itself; Lightning's takes a loss
        method = getattr(kind, "backward", None)
        return inspect.isfunction(method) and list(inspect.signature(method).parameters)[1:2] not in ([], ["loss"])
    forward = getattr(found, "forward", None if isinstance(found, type) else found)
    return callable(forward) and callable(getattr(found, "backward", None))


def _pair_of(forward: Any, backward: Any, name: str, several: int | None) -> Code:
    from gradcheck.engines.implementation.numpy_pair import NumpyPair

    if not callable(forward) or not callable(backward):
        raise UsageError(f"{name}: forward and backward are functions")
    pair = NumpyPair(forward, backward, several)
    names, unchecked = pair.parameters.found, pair.parameters.unchecked
    return Code("numpy", forward, foreign=pair, parameters=tuple(names), unchecked=tuple(unchecked))


def _made(kind: type, name: str) -> Any:
    try:
        return kind()
    except USER_EXCEPTIONS as error:
        message = f"{name} is a class that cannot be made without arguments: {error_line(error)}"
        raise UsageError(message, hint="name an instance of it") from error


def _function_of(found: Any) -> Any:
    """Return the `torch.autograd.Function` of a class or of its `apply`."""
    owner = found if isinstance(found, type) else getattr(found, "__self__", None)
    is_apply = isinstance(found, type) or getattr(found, "__name__", "") == "apply"
    if is_apply and isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        return owner
    return None


def _forward_of(function: Any) -> Callable[..., Any]:
    """Return a function with the parameters of `forward`, without `ctx`."""
    forward: Any = function.forward
    if function.setup_context is not torch.autograd.Function.setup_context:
        return forward  # type: ignore[no-any-return]
    try:
        signature = inspect.signature(forward)
    except (TypeError, ValueError):
        return forward  # type: ignore[no-any-return]

    def called(*arguments: Any) -> Any:
        return function.apply(*arguments)

    parameters = list(signature.parameters.values())
    is_open = parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
    called.__signature__ = signature.replace(parameters=parameters if is_open else parameters[1:])  # type: ignore
    return called


def _methods(owner: Any) -> list[Any]:
    return [getattr(owner, name, None) for name in ("forward", "backward", "vjp", "setup_context")]


# A forward that torch records, without the code's own backward, to check that independently --------


class RecordingContext:
    """The `ctx` of a forward, which stores its arguments."""

    saved_tensors: tuple[Any, ...] = ()

    def __init__(self, needs: tuple[bool, ...] = ()) -> None:
        self.needs_input_grad = needs

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def _ignore(self, *settings: Any) -> None: ...

    save_for_forward = save_for_backward
    mark_dirty = mark_non_differentiable = set_materialize_grads = _ignore


def differentiable_forward(code: Code, of_kept: bool = False) -> Code | None:
    """Return the code without own backwards; None if torch cannot record it.

    With `of_kept`, also without that of an `apply` that was looked up before."""
    if not code.is_torch or code.call is None:
        return None
    inner = code.function
    if inner is not None:
        return replace(code, call=lambda *arguments: _run(inner, arguments), function=None)
    return replace(code, around=partial(_bypass_backwards, of_kept))


def _run(function: Any, arguments: tuple[Any, ...]) -> Any:
    if function.setup_context is not torch.autograd.Function.setup_context:
        return function.forward(*arguments)
    needs = tuple(isinstance(one, torch.Tensor) and one.requires_grad for one in arguments)
    return function.forward(RecordingContext(needs), *arguments)


@contextmanager
def _bypass_backwards(of_kept: bool) -> Iterator[None]:
    """Have `apply` of any `Function` run its forward, which torch records."""
    base: Any = torch.autograd.function._SingleLevelFunction if of_kept else torch.autograd.Function
    known: Any = base.__dict__.get("apply")

    def apply(cls: Any, *arguments: Any) -> Any:
        return _run(cls, arguments)

    made: Callable[..., Any] = classmethod(apply)  # type: ignore[assignment]
    base.apply = made
    try:
        yield
    finally:
        del base.apply
        if known is not None:
            base.apply = known


# The gradients of a function, as a function that can be checked itself -----------------------------


def random_incoming(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
    """Return a random incoming gradient for each differentiable result."""
    results = _differentiable_results(function(*arguments))
    return tuple(torch.randn_like(one.detach()).requires_grad_() for one in results)


def first_gradients(function: Callable[..., Any], arguments: tuple[Any, ...], count: int) -> Callable[..., Any]:
    """Return the gradients as a function of arguments and incoming gradients.

    The last `count` arguments are the incoming gradients. Gradients that do not arrive are left out, as by torch's
    `gradgradcheck`."""
    asks = [isinstance(one, torch.Tensor) and one.requires_grad for one in arguments]

    @wraps(function)
    def gradients(*values: Any) -> tuple[torch.Tensor, ...]:
        with torch.enable_grad():
            given = [_asking(one) if ask else one for one, ask in zip(values, asks, strict=False)]
            wanted = [one for one, ask in zip(given, asks, strict=True) if ask]
            results = _differentiable_results(function(*given))
            found = torch.autograd.grad(results, wanted, values[-count:], create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    gradients.__qualname__ = f"the gradient of {name_of(function)}"
    return gradients


def _differentiable_results(found: Any) -> tuple[torch.Tensor, ...]:
    return tuple(one for one in leaves_of(found) if isinstance(one, torch.Tensor) and one.requires_grad)


def _asking(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.requires_grad:
        return tensor
    return torch.nn.Parameter(tensor) if isinstance(tensor, torch.nn.Parameter) else tensor.detach().requires_grad_()
