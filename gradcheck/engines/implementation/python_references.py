"""References to user code that was passed as Python objects.

An object of an imported module gets its name; any other its own source, with the parts of its module that it needs. An
instance gets a call of its class.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from types import LambdaType, ModuleType
from typing import Any

import numpy as np
import torch

from gradcheck.engines.folder_finder import is_installed_file
from gradcheck.engines.implementation.code_loading import load_code
from gradcheck.errors import Unsupported
from gradcheck.language.case import Implementation

#: The largest array that is written.
_MOST_ELEMENTS = 200
#: The name of a lambda.
_LAMBDA = "called_"


def with_python_references(implementation: Implementation) -> tuple[Implementation, list[str]]:
    """Return references, and necessary sources. Raises Unsupported."""
    if implementation.loaded is None:
        return implementation, []
    call, backward = load_code(implementation)
    sources: list[str] = []
    references = ["" if one is None else _reference(one, sources) for one in (call, backward)]
    return replace(implementation, call=references[0], backward=references[1]), sources


def import_lines(where: str, name: str) -> list[str]:
    """Return the lines that import a name of `FILE.py` or of a module.

    Raises Unsupported if the file cannot be imported by its name."""
    folder, module = os.path.split(where.removesuffix(".py")) if where.endswith(".py") else ("", where)
    is_hidden = where.endswith(".py") and module in sys.stdlib_module_names
    if is_hidden or not name or not all(part.isidentifier() for part in module.split(".")):
        raise Unsupported("only what can be imported is written")
    folder = folder or _folder_of_module(module)
    path = [f"import sys\nsys.path.insert(0, {os.path.abspath(folder)!r})"] if folder else []
    return [*path, f"from {module} import {name.partition('.')[0]}"]


def _folder_of_module(module: str) -> str:
    """Return the folder of a user's module; "" if it is installed."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if not file or is_installed_file(file):
        return ""
    up = module.count(".") + (os.path.basename(file) == "__init__.py")
    return reduce(lambda folder, _: os.path.dirname(folder), range(up), os.path.dirname(file))


def array_literal(array: np.ndarray, *, torch: bool) -> str:
    """Return an array as a call of `np.array` or `torch.tensor`."""
    numbers = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    name = array.dtype.name
    return f"torch.tensor({numbers}, dtype=torch.{name})" if torch else f"np.array({numbers}, dtype={name!r})"


def _reference(found: Any, sources: list[str]) -> str:
    owner = getattr(found, "__self__", None)
    if isinstance(owner, type) and getattr(found, "__name__", "") == "apply":
        return f"{_reference(owner, sources)}.apply"
    if inspect.ismethod(found) and not isinstance(owner, (type, ModuleType)):
        return f":{_write_instance(owner, sources)}.{found.__name__}"
    module, name = getattr(found, "__module__", None) or "", getattr(found, "__qualname__", "")
    module = module or ("numpy" if type(found).__module__.startswith("numpy") else "")
    name = name or getattr(found, "__name__", "")
    if name and _leads_to(module, name) is found and module != "__main__":
        home = sys.modules[module]
        file = inspect.getsourcefile(home) if module != "numpy" and hasattr(home, "__file__") else None
        is_own = file is not None and not is_installed_file(file)
        return f"{file}:{name}" if is_own and "." not in module else f"{module}:{name}"
    if not name:
        return f":{_write_instance(found, sources)}"
    return f":{_write_source(found, sources)}"


def _leads_to(module: str, name: str) -> Any:
    try:
        return reduce(getattr, name.split("."), sys.modules[module])
    except (KeyError, AttributeError):
        return None


def _write_instance(owner: Any, sources: list[str]) -> str:
    """Add the instance's construction; return its variable.

    Its arguments are attributes of the same names. Raises Unsupported if one is unknown."""
    if isinstance(owner, functools.partial):
        given = [_literal(one) for one in owner.args]
        given += [f"{key}={_literal(one)}" for key, one in owner.keywords.items()]
        made = f"functools.partial({', '.join([_local_name(owner.func, sources), *given])})"
        sources.append("import functools")
    elif type(owner).__module__ == "builtins":  # a set: its constructor's arguments are no attributes
        raise Unsupported("its source does not stand alone")
    else:
        given = [f"{name}={text}" for name, text in _constructor_arguments(owner)]
        made = f"{_local_name(type(owner), sources)}({', '.join(given)})"
    variable = f"{type(owner).__name__.lower()}_"
    if f"{variable} = {made}" not in sources:
        sources.append(f"{variable} = {made}")
    return variable


def _constructor_arguments(owner: Any) -> Iterator[tuple[str, str]]:
    try:
        parameters = inspect.signature(type(owner)).parameters.values()
    except (TypeError, ValueError) as error:
        raise Unsupported("its construction is unknown") from error
    for one in parameters:
        is_open = one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if not is_open and (hasattr(owner, one.name) or one.default is one.empty):
            yield one.name, _literal(getattr(owner, one.name, None))


def _literal(value: Any) -> str:
    """Return a value as Python. Raises Unsupported if that is long."""
    if isinstance(value, (int, float, complex, str, bool)) or value is None:
        return repr(value)
    if isinstance(value, (tuple, list)):
        inside = "".join(f"{_literal(one)}, " for one in value)
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    is_tensor = isinstance(value, torch.Tensor)
    array = value.detach().cpu().numpy() if is_tensor and value.dtype is not torch.bfloat16 else value
    if isinstance(array, np.ndarray) and array.size <= _MOST_ELEMENTS and array.dtype.kind in "biufc":
        return array_literal(array, torch=is_tensor)
    raise Unsupported("its source does not stand alone")


def _local_name(found: Any, sources: list[str]) -> str:
    """Return the name of an object, whose import or source is added."""
    where, _, name = _reference(found, sources).rpartition(":")
    sources += [line for line in (import_lines(where, name) if where else ()) if line not in sources]
    return name


def _write_source(found: Any, sources: list[str]) -> str:
    """Add an object's source below its dependencies; return its name."""
    if isinstance(found, LambdaType) and found.__name__ == "<lambda>":
        top: ast.AST = _lambda_node(found)
        name, text = _LAMBDA, f"{_LAMBDA} = {ast.unparse(top)}"
    else:
        try:
            text = textwrap.dedent(inspect.getsource(found)).rstrip()
            (top,) = ast.parse(text).body
        except (TypeError, OSError, SyntaxError, ValueError) as error:
            raise Unsupported("its source cannot be shown") from error
        if not isinstance(top, (ast.FunctionDef, ast.ClassDef)):
            raise Unsupported("its source does not stand alone")
        name = top.name
    if text in sources:
        return name
    if name in {source.partition(" = ")[0] for source in sources}:
        raise Unsupported("it has the name of another")
    sources.append(text)  # ends the recursion of a recursive function
    _write_dependencies(found, top, name, sources)
    sources.remove(text)
    sources.append(text)
    for statement in _defining_statements(found, name):
        _write_dependencies(found, statement, name, sources)
        sources.append(ast.unparse(statement))
    return name


def _lambda_node(found: Any) -> ast.Lambda:
    """Return a lambda's syntax. Raises Unsupported if its line has several."""
    code, nodes = found.__code__, ast.walk(_module_syntax(found))
    listed = [one for one in nodes if isinstance(one, ast.Lambda) and one.lineno == code.co_firstlineno]
    own = [one for one in listed if [a.arg for a in one.args.args] == list(code.co_varnames[: code.co_argcount])]
    if len(own) != 1:
        raise Unsupported("its source cannot be shown")
    return own[0]


def _module_syntax(found: Any) -> ast.Module:
    try:
        lines, _ = inspect.findsource(inspect.unwrap(found))
        return ast.parse("".join(lines))
    except (TypeError, OSError, SyntaxError, ValueError) as error:
        raise Unsupported("its source cannot be shown") from error


def _defining_statements(found: Any, name: str) -> Iterator[ast.Expr]:
    """Yield the statements such as `op.defvjp(…)` of a JAX function."""
    for node in ast.walk(_module_syntax(found)) if hasattr(found, "defvjp") or hasattr(found, "defjvp") else ():
        called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        is_rule = isinstance(called, ast.Attribute) and called.attr in ("defvjp", "defjvp", "defjvps")
        if is_rule and isinstance(called.value, ast.Name) and called.value.id == name:  # type: ignore[union-attr]
            yield node  # type: ignore[misc]


def _write_dependencies(found: Any, top: ast.AST, name: str, sources: list[str]) -> None:
    """Add the definitions of the names that some syntax of the object uses."""
    used = _names_in([top]) - {name}
    at_once = used
    if isinstance(top, ast.FunctionDef):  # what its body names is needed when it is called
        around = [*top.decorator_list, top.args, *([top.returns] if top.returns else [])]
        at_once = used - (_names_in(top.body) - _names_in(around))
    known = _known_names(found, at_once)
    for one in sorted(used & known.keys()):
        _write_dependency(known[one], one, sources)


def _names_in(parts: Iterable[ast.AST]) -> set[str]:
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}


def _known_names(found: Any, at_once: set[str]) -> dict[str, Any]:
    """Return the objects that an object's functions name."""
    parts = [getattr(one, "__func__", one) for one in (found, *vars(found).values())]
    functions = [one for one in parts if inspect.isfunction(inspect.unwrap(one))]
    around = [inspect.getclosurevars(inspect.unwrap(one)) for one in functions]
    known = {one.__name__: one for one in functions if one is not found and "<" not in one.__name__}
    module = vars(sys.modules.get(found.__module__, ModuleType("")))
    known |= {name: module[name] for name in at_once if name in module}
    return known | {key: value for one in around for key, value in {**one.globals, **one.nonlocals}.items()}


def _write_dependency(value: Any, name: str, sources: list[str]) -> None:
    """Add the definition of one name."""
    if inspect.ismodule(value):
        sources.append(f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}")
    elif inspect.isroutine(value) or isinstance(value, type) or hasattr(value, "__wrapped__"):
        if _local_name(value, sources) != name:
            raise Unsupported("its source does not stand alone")
    else:
        try:
            text = _literal(value)
        except Unsupported:
            text = _write_instance(value, sources)
        sources.append(f"{name} = {text}")
