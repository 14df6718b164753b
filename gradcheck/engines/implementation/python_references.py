"""References to user code that was passed as Python objects.

An object of an imported module gets its name; any other its own source, with the parts of its module that it needs.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from dataclasses import replace
from functools import reduce
from typing import Any

from gradcheck.engines.implementation.code_loading import load_code
from gradcheck.engines.user_modules import is_installed_file
from gradcheck.errors import Unsupported
from gradcheck.language.case import Implementation


def with_python_references(implementation: Implementation) -> tuple[Implementation, list[str]]:
    """Return references, and necessary sources. Raises Unsupported."""
    if implementation.loaded is None:
        return implementation, []
    call, backward = load_code(implementation)
    sources: list[str] = []
    references = ["" if one is None else _reference(one, sources) for one in (call, backward)]
    return replace(implementation, call=references[0], backward=references[1]), sources


def _reference(found: Any, sources: list[str]) -> str:
    owner = getattr(found, "__self__", None)
    if isinstance(owner, type) and getattr(found, "__name__", "") == "apply":
        return f"{_reference(owner, sources)}.apply"
    module, name = getattr(found, "__module__", None) or "", getattr(found, "__qualname__", "")
    module = module or ("numpy" if type(found).__module__.startswith("numpy") else "")
    name = name or getattr(found, "__name__", "")
    if name and _leads_to(module, name) is found and module != "__main__":
        file = inspect.getsourcefile(sys.modules[module]) if "." not in module and module != "numpy" else None
        return f"{file}:{name}" if file and not is_installed_file(file) else f"{module}:{name}"
    return f":{_write_source(found, sources)}"


def _leads_to(module: str, name: str) -> Any:
    try:
        return reduce(getattr, name.split("."), sys.modules[module])
    except (KeyError, AttributeError):
        return None


def _write_source(found: Any, sources: list[str]) -> str:
    """Add an object's source below its dependencies; return its name."""
    try:
        text = textwrap.dedent(inspect.getsource(found)).rstrip()
        (top,) = ast.parse(text).body
    except (TypeError, OSError, SyntaxError, ValueError) as error:
        raise Unsupported("its source cannot be shown") from error
    if not isinstance(top, (ast.FunctionDef, ast.ClassDef)):
        raise Unsupported("its source does not stand alone")
    if text in sources:
        return top.name
    sources.append(text)  # ends the recursion of a recursive function
    for name in sorted({node.id for node in ast.walk(top) if isinstance(node, ast.Name)} - {top.name}):
        _write_dependency(found, name, sources)
    sources.remove(text)
    sources.append(text)
    return top.name


def _write_dependency(found: Any, name: str, sources: list[str]) -> None:
    """Add the definition of a name in the object's module."""
    functions = [one for one in (found, *vars(found).values()) if inspect.isfunction(inspect.unwrap(_plain(one)))]
    around = [inspect.getclosurevars(inspect.unwrap(_plain(one))) for one in functions]
    known = {key: value for one in around for key, value in {**one.globals, **one.nonlocals}.items()}
    if isinstance(found, type):
        known = {**vars(sys.modules.get(found.__module__)), **known} if found.__module__ in sys.modules else known
    if name not in known:
        return
    value = known[name]
    if inspect.ismodule(value):
        sources.append(f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}")
    elif isinstance(value, (int, float, complex, str, bool)) or value is None:
        sources.append(f"{name} = {value!r}")
    else:
        where, _, own = _reference(value, sources).rpartition(":")
        if own != name or where.endswith(".py") or "." in own:
            raise Unsupported("its source does not stand alone")
        sources += [f"from {where} import {own}"] if where else []


def _plain(one: Any) -> Any:
    return getattr(one, "__func__", one)
