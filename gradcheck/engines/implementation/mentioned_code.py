"""The code that a callable mentions, and its array library."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS

#: The library of a function, by the package of what it mentions.
_ARRAY_LIBRARIES = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "autograd": "autograd"}
#: Packages whose own code is not looked into.
_KNOWN = {*_ARRAY_LIBRARIES, "numpy", "scipy", "triton", *sys.stdlib_module_names}
#: How many functions, modules and objects are looked into.
_MOST = 400
#: The libraries in the order in which they are chosen if a function mentions several.
_PREFERRED = ("torch", "jax", "autograd")


def library_of(found: Any) -> str:
    """Return the library that a callable mentions; torch if there is none."""
    own = _library(type(found).__module__)
    if own in ("jax", "autograd"):
        return own
    seen: set[str] = set()
    for library in _libraries(found):
        seen.add(library)
        if library == _PREFERRED[0]:
            break
    return next((library for library in _PREFERRED if library in seen), "torch")


def mentions(function: Any, package: str) -> bool:
    """Return whether a function, or a user's one in it, mentions a package."""
    return any(name.partition(".")[0] == package for one in mentioned(function) for name in _modules(one))


def constants_in(function: Any) -> Iterator[float]:
    """Yield the numbers in the code of a function, and of those it mentions."""
    for one in mentioned(function):
        is_read = one is function or not _is_known(one)
        numbers = [c for code in nested_codes(_attribute(one, "__code__")) for c in code.co_consts if is_read]
        yield from (float(number) for number in (*numbers, one) if _is_number(number))


def _libraries(found: Any) -> Iterator[str]:
    for one in mentioned(found):
        yield from filter(None, map(_library, _modules(one)))
        for code in nested_codes(_attribute(one, "__code__")):
            if any(map(_library, code.co_names)):
                imports = (i.argval for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME")
                yield from filter(None, map(_library, imports))


def mentioned(found: Any) -> Iterator[Any]:
    """Yield a callable, and what it and users' functions mention in turn."""
    queue: deque[Any] = deque([found])
    seen: dict[int, Any] = {}  # kept, so that no other object gets the same id
    while queue and len(seen) < _MOST:
        one = queue.popleft()
        inner = _attribute(one, "__func__", one)  # a bound method is a new object each time
        if id(inner) in seen:
            continue
        seen[id(inner)] = inner
        yield one
        if one is found or not _is_known(one):
            queue += _parts(one)


def _parts(one: Any) -> Iterator[Any]:
    """Yield what a callable mentions: a partial's parts, names, cells."""
    if isinstance(one, functools.partial):
        yield from (one.func, *one.args, *one.keywords.values())
        return
    inner = _attribute(one, "__wrapped__", one) if callable(one) else one
    if inner is not one:
        yield inner
    owner, function = _attribute(one, "__self__"), _attribute(one, "__func__", one)
    if not isinstance(function, types.FunctionType):
        if callable(one) and not isinstance(one, (type, types.BuiltinFunctionType)):
            yield from _attributes(one, {"__call__", "forward", "fn"})  # Triton's kernels have `fn`
        return
    yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    names = {name for code in nested_codes(function.__code__) for name in code.co_names}
    values = [function.__globals__[name] for name in global_names(function.__code__) if name in function.__globals__]
    found = [*values, *filled_cells(function).values(), *([] if owner is None else [owner])]
    found += [part for value in found if type(value) is dict for part in value.values()]
    found += [part for value in found if type(value) in (list, tuple) for part in value]
    yield from found
    for value in found:
        if not isinstance(value, types.FunctionType):
            yield from _attributes(value, names)


@functools.cache
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """Return the globals that code reads; attributes may have the same names."""
    read = (i for one in nested_codes(code) for i in dis.get_instructions(one))
    return tuple(dict.fromkeys(i.argval for i in read if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")))


def _attributes(value: Any, names: set[str]) -> Iterator[Any]:
    """Yield a value's attributes of these names: callables, modules, numbers."""
    for name in sorted(names):
        found = inspect.getattr_static(value, name, None)
        if isinstance(found, types.FunctionType) and not isinstance(value, types.ModuleType):
            found = types.MethodType(found, value)
        is_code = callable(found) or isinstance(found, types.ModuleType)
        if _is_number(found) or (is_code and not isinstance(value, type)):
            yield found


def _attribute(value: Any, name: str, default: Any = None) -> Any:
    """Return an attribute; the default where looking it up raises.

    Objects that stand in for a driver or a request raise whatever they like."""
    try:
        return getattr(value, name, default)
    except USER_EXCEPTIONS:
        return default


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def filled_cells(function: types.FunctionType) -> dict[int, Any]:
    """Return the variables of a closure that are set, by their cells' ids."""
    found = {}
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            found[id(cell)] = cell.cell_contents
    return found


def nested_codes(code: Any) -> Iterator[types.CodeType]:
    """Yield a code object and those of the functions defined in it."""
    if isinstance(code, types.CodeType):
        yield code
        for constant in code.co_consts:
            yield from nested_codes(constant)


def _modules(value: Any) -> Iterator[str]:
    """Yield the names of modules that a value is, or is of."""
    if isinstance(value, types.ModuleType):
        yield value.__name__
        return
    scope = _attribute(value, "__globals__")  # of a library's wrapper around a user's function
    scope = scope if isinstance(scope, dict) else {}
    names = (_attribute(value, "__module__"), scope.get("__name__"), type(value).__module__)
    yield from (name for name in names if isinstance(name, str) and name != "builtins")


def _is_known(value: Any) -> bool:
    """Return whether a value is a library's, whose code says nothing here."""
    roots = {name.partition(".")[0] for name in _modules(value)}
    if isinstance(value, functools.partial):
        return False
    return not roots or not roots.isdisjoint(_KNOWN)


def _library(module: str) -> str:
    return _ARRAY_LIBRARIES.get(module.partition(".")[0], "")


# The layer, or other object, whose methods a pair of functions uses --------------------------------


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
