"""Discovery of a Tensor class's interface, before any computation."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class import dialects, fed_graph
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.fed_graph import SAMPLE, FedGraph
from gradcheck.engines.tensor_class.members import candidates, is_storage, vars_of
from gradcheck.engines.tensor_class.pass_lookup import words_of
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, error_line, signature_parameters
from gradcheck.errors import Unsupported, UsageError

#: A class with one of these holds tensors, not single numbers.
_ARRAY_LIKE = ("sum", "__matmul__", "dot", "mm", "matmul", "mean", "reshape", "__getitem__", "T", "transpose")
_PRODUCTS = ("__matmul__", "dot", "mm", "matmul")


def api_of(constructor: Callable[..., Any], name: str, module: ModuleType | None = None) -> Api:
    """Return the interface of a class, or of a function that makes tensors.

    Raises UsageError if it is no Tensor class. The named `module` may have its class from another one."""
    api = Api(constructor, name, module=module)
    api.grad_flags, api.keeping_flag = _flags(constructor), _keeping_flag(constructor)
    made: Any = None
    problem = None
    try:
        made = _sample_tensor(api)
    except UsageError as error:
        problem = error
    if problem is not None or not _holds_sample(api, made):  # its first argument may be a shape
        maker = fed_graph.maker_of(constructor, module)
        if maker is not None:
            return api_of(maker, name, module)
        if problem is None:  # it may be a name, before the data, or without any
            made = _named_sample(api) or made
        for later in () if problem is None and _holds_sample(api, made) else fed_graph.later_makers(constructor):
            with suppress(UsageError):
                if _holds_sample(filled := Api(later, name), _first_tensor(filled)):
                    return api_of(later, name, module)
        with suppress(*USER_EXCEPTIONS):
            if problem is None and np.isnan(api.read(made)).all():
                problem = UsageError(f"{name} does not hold the number that it is made from")
    for inner in fed_graph.data_makers(constructor) if problem is not None else ():
        with suppress(UsageError):
            return api_of(fed_graph.of_wrapped(constructor, inner), name, module)
    if problem is not None:
        if (graph := fed_graph.fed_graph_of(constructor, module)) is not None:
            return api_of(graph, name, module)
        raise problem
    api.tensor_type = type(made)
    if isinstance(constructor, type) and isinstance(made, constructor):
        api.tensor_type = constructor  # what ops return may be of another of its subclasses
    api.backward_name = _backward_of(api.tensor_type)
    if not api.backward_name:
        api.pass_type = type(made)
        with suppress(*USER_EXCEPTIONS):
            api.pass_type = type(made + made)  # which may be another class than its terms'
        api.backward_name = _backward_of(api.pass_type)
    if not api.backward_name and enable_gradients(api):
        api.backward_name = _backward_of(api.tensor_type)
        made = api.make(np.array(0.5) if api.is_scalar else SAMPLE, True)
    above = (kind for kind in reversed(api.tensor_type.__mro__) if hasattr(kind, api.backward_name))
    api.base_type = next(above, api.tensor_type) if api.backward_name else api.tensor_type
    api.gradient_name = next((n for n in dialects.GRADIENTS if _may_hold_gradient(made, n)), "")
    leaf_type = None if api.gradient_name else _leaf_type_of(constructor)
    if leaf_type is not None:
        return api_of(leaf_type, name, module)
    behind = isinstance(inspect.getattr_static(api.tensor_type, api.gradient_name or "_", None), property)
    api.gradient_field = f"_{api.gradient_name}" if behind and f"_{api.gradient_name}" in vars_of(made) else ""
    api.is_scalar = api.is_scalar or not _holds_arrays(api)
    if not api.backward_name:
        api.pass_runner = next(api.passes(), None)
    if not api.backward_name and api.pass_runner is None:
        hint = "name a Tensor class, or an object with evaluate() and pull_back()"
        raise UsageError(f"{name} has no backward(), and nothing runs one for it, so it is no engine", hint=hint)
    return api


def _leaf_type_of(constructor: Callable[..., Any]) -> type | None:
    """Return the subclass of leaves, which alone have a gradient, if any."""
    kinds: list[type] = constructor.__subclasses__() if isinstance(constructor, type) else []
    for kind in (kind for kind in kinds if not set(words_of(kind.__name__)).isdisjoint(dialects.LEAVES)):
        api = Api(kind, kind.__name__)
        api.grad_flags = _flags(kind)
        with suppress(UsageError):
            made = _sample_tensor(api)
            if any(_may_hold_gradient(made, name) for name in dialects.GRADIENTS):
                return kind
    return None


def _holds_sample(api: Api, made: Any) -> bool:
    """Return whether a sample tensor has the sample's numbers."""
    try:
        found, wanted = api.read(made), np.array(0.5) if api.is_scalar else SAMPLE
        return found.size == wanted.size and np.allclose(found.reshape(wanted.shape), wanted, 1e-2)
    except USER_EXCEPTIONS:
        return False


def _backward_of(kind: type) -> str:
    return next((name for name in dialects.BACKWARDS if callable(getattr(kind, name, None))), "")


def enable_gradients(api: Api) -> bool:
    """Call functions that add gradients to the class; return whether one did."""
    found = False
    for home in api.modules(*dialects.PASS_MODULES):
        for name in dialects.ENABLING_FUNCTIONS:
            function = getattr(home, name, None)
            if callable(function) and not found:
                try:
                    function()
                except USER_EXCEPTIONS:  # it has another purpose
                    continue
                found = True
    if found:
        api.grad_flags = _flags(api.constructor)
        api.grad_flag, api.grad_flag_value = api.grad_flags[0]
    return found


def _sample_tensor(api: Api) -> Any:
    """Return a tensor from the data alone, else with all required arguments."""
    try:
        return _first_tensor(api)
    except UsageError:
        if not _fill(api):
            raise
        try:
            return _first_tensor(api)
        except UsageError:
            api.data_name, api.other_arguments = "", {}
            raise


def _named_sample(api: Api) -> Any:
    """Return a tensor whose data are not the first argument, or None.

    The other way to make tensors is kept then."""
    if _fill(api):
        with suppress(UsageError):
            made = _first_tensor(api)
            if _holds_sample(api, made):
                return made
        api.data_name, api.other_arguments = "", {}
        _first_tensor(api)
    return None


def _fill(api: Api) -> bool:
    """Set values for required arguments with known names.

    Return whether the constructor then gets more than the data by position."""
    parameters = signature_parameters(api.constructor) or []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    plain = {name: name.lower().strip("_") for name in named}
    data = next((name for word in dialects.DATA for name in named if plain[name] == word), "")
    flags = {flag for flag, _ in api.grad_flags}
    wanted = [p.name for p in parameters if p.default is p.empty and p.name in named and p.name not in (data, *flags)]
    if not data or not all(plain[name] in dialects.DEFAULT_ARGUMENTS for name in wanted):
        return False
    api.data_name, api.other_arguments = data, {name: dialects.DEFAULT_ARGUMENTS[plain[name]] for name in wanted}
    return bool(wanted) or data != named[0]


def _flags(constructor: Callable[..., Any]) -> tuple[tuple[str, bool], ...]:
    """Return the candidates for the gradient flag, with their values.

    The dialects' flags come first, then none, then any other parameter that defaults to False."""
    parameters = (signature_parameters(constructor) or [])[1:]
    words = (*dialects.FLAGS, *dialects.OPPOSITE_FLAGS)
    plain = {parameter.name: parameter.name.lower().replace("_", "") for parameter in parameters}
    known = sorted((name for name in plain if plain[name] in words), key=lambda name: words.index(plain[name]))
    others = [p.name for p in parameters if "grad" in p.name.lower() and isinstance(p.default, bool)]
    found = [(name, plain[name] not in dialects.OPPOSITE_FLAGS) for name in dict.fromkeys((*known, *others))]
    more = [p.name for p in parameters if p.default is False and p.name not in dict(found)]
    return (*found, ("", True), *((name, True) for name in more))


def _keeping_flag(constructor: Callable[..., Any]) -> str:
    names = [parameter.name for parameter in (signature_parameters(constructor) or [])[1:]]
    return next((name for name in names if name.lower().replace("_", "") in dialects.KEEPING_FLAGS), "")


def _first_tensor(api: Api) -> Any:
    """Return a tensor of several numbers, or of one for a scalar class.

    The first flag with which it can be made and read is kept."""
    problem: BaseException | None = None
    ways = ((False, False, SAMPLE), (False, True, SAMPLE), (True, False, np.array(0.5)))
    for scalar, lists, array in ways:
        for flag, if_wanted in api.grad_flags:
            api.is_scalar, api.needs_lists, api.grad_flag, api.grad_flag_value = scalar, lists, flag, if_wanted
            try:
                made = api.make(array, True)
                api.values_names = _values_names(api, made, array)
                if api.is_scalar or api.read(made).shape == array.shape:
                    api.storage = "" if api.is_scalar else _storage_of(api, made)
                    return made
            except USER_EXCEPTIONS as error:
                problem = problem or error
    message = f"{api.name} cannot be made from an array: {error_line(problem) if problem else ''}"
    raise UsageError(message, hint="its first argument must be the data") from problem


def _values_names(api: Api, made: Any, array: np.ndarray) -> tuple[str, ...]:
    """Return the attribute with the data, if no table knows it."""
    if any(_has_attribute(made, name) for name in (*dialects.VALUES, *dialects.VALUE_METHODS)):
        return ()
    kept = (name for name in vars_of(made) if _has_values(api, getattr(made, name), array))
    return tuple(kept)[:1]


def _has_values(api: Api, value: Any, array: np.ndarray) -> bool:
    numbers = None if isinstance(value, (bool, str)) else api.plain(value)
    return numbers is not None and numbers.shape == array.shape and bool(np.allclose(numbers, array, 1e-6))


def _storage_of(api: Api, made: Any) -> str:
    """Return the attribute with an array of the user's own, or ""."""
    names = (*api.values_names, *dialects.VALUES)
    found = next(
        (name for name in names if _has_attribute(made, name) and api.plain(getattr(made, name)) is not None), ""
    )
    value = getattr(made, found, None)
    is_foreign = not hasattr(value, "__array__") or hasattr(value, "new_tensor")  # as torch's arrays have
    return found if is_storage(value) and is_foreign and not api.is_tensor(value) else ""


def _holds_arrays(api: Api) -> bool:
    tensor = api.make(SAMPLE, True)
    try:
        if api.read(tensor).shape != SAMPLE.shape or isinstance(api.constructor, FedGraph):
            return isinstance(api.constructor, FedGraph)
    except Unsupported:
        return False
    if any(_has_working_method(api, name) for name in _ARRAY_LIKE) or _tells_shape(tensor):
        return True
    return _converts(api) and not _divides_only_numbers(api)


def _divides_only_numbers(api: Api) -> bool:
    """Return whether a quotient raises for arrays, and not for numbers."""
    for values, answer in ((np.array(0.5), False), (SAMPLE, True)):  # without quotients, it divides nothing
        made = api.make(values, True)
        try:
            made / made
        except USER_EXCEPTIONS:
            return answer
    return False


def _tells_shape(tensor: Any) -> bool:
    """Return whether a sample tensor has a shape, and it is the sample's."""
    try:
        shape = getattr(tensor, "shape", ())
        return tuple(shape() if callable(shape) else shape) == SAMPLE.shape
    except USER_EXCEPTIONS:
        return False


def _has_working_method(api: Api, name: str) -> bool:
    """Return whether there is such a method, and it returns something."""
    if not hasattr(api.tensor_type, name):
        return False
    given = api.make(SAMPLE @ SAMPLE.T, True)
    method = getattr(given, name, None)
    others = (given,) if name in _PRODUCTS else ()
    try:
        return not callable(method) or name in ("transpose", "reshape", "__getitem__") or method(*others) is not None
    except USER_EXCEPTIONS:
        return True


def _converts(api: Api) -> bool:
    """Return whether it converts lists, or has arrays for gradients."""
    home = sys.modules.get(getattr(api.tensor_type, "__module__", ""))
    try:
        made = api.construct(SAMPLE.tolist(), {})
        values = next(candidates(made, dialects.VALUES, ()), None)
        if isinstance(values, np.ndarray) or isinstance(api.gradient(made), np.ndarray):
            return True
        begins_with_none = api.gradient_name != "" and api.gradient(api.construct(0.5, {})) is None
    except USER_EXCEPTIONS:  # it takes only arrays
        return True
    return begins_with_none and any(value is np for value in vars(home).values() if home is not None)


def gradient_places(api: Api) -> list[str]:
    """Return attributes and methods named like a gradient that no table has."""
    made = api.make(np.array(0.5) if api.is_scalar else SAMPLE, True)
    shared = [name for kind in type(made).__mro__[:-1] for name in vars(kind)]
    named = [name for name in (*vars_of(made), *shared) if _may_hold_gradient(made, name)]
    words = {name: set(words_of(name)) for name in named if name not in (api.backward_name, *dialects.GRADIENTS)}
    likely = [name for name, own in words.items() if not own.isdisjoint(dialects.GRADIENT_WORDS)]
    return [name for name in likely if words[name].isdisjoint(dialects.NO_PASS_WORDS)]


def _may_hold_gradient(tensor: Any, name: str) -> bool:
    """Return whether there is this attribute, or method without arguments."""
    if not _has_attribute(tensor, name):
        return False
    try:
        found = getattr(tensor, name)
    except USER_EXCEPTIONS:  # a property, before any pass
        return True
    required = [p for p in signature_parameters(found) or [] if p.default is p.empty] if callable(found) else []
    return type(found) is not bool and all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in required)


def _has_attribute(tensor: Any, name: str) -> bool:
    """Return whether there is such an attribute, even an unreadable one."""
    try:
        return hasattr(tensor, name)
    except USER_EXCEPTIONS:
        return True
