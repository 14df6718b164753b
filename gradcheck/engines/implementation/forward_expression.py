"""The expression of a forward pass, read from its source.

No code runs: the file is parsed. A function qualifies if it assigns local names and returns one expression.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcheck.errors import InvalidCase, UsageError
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import free_names, substitute

_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: The method of a class that computes, and the first parameters that are no operands.
_FORWARD, _OWN = ("forward", "__call__"), ("self", "cls", "ctx")


def forward_expression(source: str, name: str) -> Expr:
    """Return what a function or a class computes. Raises UsageError.

    `name` may end in a method, such as `Function.apply`."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"the file is no Python: {error}") from error
    function = _function_of(module, name)
    own = [one.arg for one in (*function.args.posonlyargs, *function.args.args) if one.arg not in _OWN]
    hint = "say what it computes: --formula 'EXPRESSION'"
    try:
        found = _returned(function)
    except InvalidCase as error:
        raise UsageError(f"what {name} computes is no expression of a case: {error.message}", hint=hint) from error
    others = [word for word in free_names(found) if word not in own]
    if others:
        raise UsageError(f"what {name} computes also depends on {', '.join(others)}", hint=hint)
    return found


def _function_of(module: ast.Module, name: str) -> _Function:
    found: ast.AST | None = module
    for word in name.split("."):
        found = next((one for one in _definitions(found) if one.name == word), found if word == "apply" else None)
        if found is None:
            raise UsageError(f"the file defines no '{name}'", hint="name a function or a class of it")
    while isinstance(found, ast.ClassDef):
        found = next((one for one in _definitions(found) if one.name in _FORWARD), None)
    if not isinstance(found, _Function):
        raise UsageError(f"'{name}' has no forward pass", hint="name a function, or a class with forward()")
    return found


def _definitions(node: ast.AST | None) -> Iterator[_Function | ast.ClassDef]:
    return (one for one in getattr(node, "body", ()) if isinstance(one, _Function | ast.ClassDef))


def _returned(function: _Function) -> Expr:
    """Return the result, with local names written out. Raises InvalidCase."""
    known: dict[str, Expr] = {}
    for line in function.body:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known[name] = substitute(parse(ast.unparse(value)), known)
            case ast.Return(value=ast.expr() as value):
                return substitute(parse(ast.unparse(value)), known)
            case ast.Expr() | ast.Assign(targets=[ast.Attribute()]):  # `ctx.save_for_backward(…)`, `ctx.mask = …`
                continue
            case _:
                raise InvalidCase(f"line {line.lineno} is neither an assignment nor a return")
    raise InvalidCase("it returns nothing")
