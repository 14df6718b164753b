"""The layer, or other object, whose methods a pair of functions uses.

Functions count whose variables hold it: `lambda g: layer.backward(g, 0.0)`.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from gradcheck.engines.implementation.mentioned_code import filled_cells, global_names, nested_codes


def owner_of(function: Callable[..., Any]) -> Any:
    """Return the object of a method, also in a partial, or of a call."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__self__", None if inspect.isroutine(function) else function)


def shared_owner(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """Return the object whose methods both are or call; None for others."""
    known = {id(one) for one in _owners(forward)}
    return next((one for one in _owners(backward) if id(one) in known and one is not backward), None)


def method_of(owner: Any, function: Callable[..., Any], known: Any) -> Callable[..., Any]:
    """Return the same method, or function, of `owner` in place of `known`."""
    if isinstance(function, functools.partial):
        return functools.partial(method_of(owner, function.func, known), *function.args, **function.keywords)
    if inspect.ismethod(function):  # whose name may be that of a decorator's function
        return types.MethodType(function.__func__, owner)
    if not isinstance(function, types.FunctionType):
        return getattr(owner, getattr(function, "__name__", "__call__"))  # type: ignore[no-any-return]
    variables = function.__globals__
    if any(variables.get(name) is known for name in global_names(function.__code__)):
        variables = {name: owner if value is known else value for name, value in variables.items()}
    cells = filled_cells(function)
    closure = function.__closure__ and tuple(
        types.CellType(owner) if cells.get(id(cell)) is known else cell for cell in function.__closure__
    )
    made = types.FunctionType(function.__code__, variables, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _owners(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the object of a method, or those whose methods a function calls."""
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, types.FunctionType):
        owner = owner_of(function)
        yield from () if owner is None or isinstance(owner, type) else (owner,)
        return
    attributes = {name for code in nested_codes(function.__code__) for name in code.co_names}
    globals_ = (function.__globals__.get(name) for name in global_names(function.__code__))
    for one in (*filled_cells(function).values(), *globals_):
        if isinstance(one, (type, types.ModuleType, types.FunctionType)) or not hasattr(one, "__dict__"):
            continue
        is_called = vars(one) and any(_has_method(one, name) for name in attributes)
        is_layer = _has_method(one, "backward") and (_has_method(one, "forward") or _has_method(one, "__call__"))
        if is_called or is_layer:  # a layer may be called itself, or by a helper, and keep nothing before
            yield one


def _has_method(one: Any, name: str) -> bool:
    return inspect.isfunction(inspect.getattr_static(one, name, None))
