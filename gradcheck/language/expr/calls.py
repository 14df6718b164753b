"""What is called in an expression: an op by one of its names, or a method."""

from __future__ import annotations

import ast
from functools import partial

from gradcheck.autograd.op import ALIASES, TABLE, Op, lookup
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.autograd.signature import KEYWORD_ALIASES
from gradcheck.errors import ArgumentError
from gradcheck.language.expr import names
from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.expr.source import Source
from gradcheck.language.expr.syntax import Plan, dotted, signed
from gradcheck.language.expr.words import METHOD_WORDS, WORDS, plan_word, plan_word_method
from gradcheck.language.suggest import did_you_mean

NUMPY = frozenset({"np", "numpy", "jnp"})
#: Who would call a tensor so?
_NO_TENSORS = frozenset({"torch", "math", *NUMPY})


def plan_call(source: Source, node: ast.Call, depth: int) -> Plan:
    """How to read a call. Raises InvalidCase where nothing of that name can be called, or not with these keywords."""
    func = node.func
    if isinstance(func, ast.Name):
        return plan_word(source, node, depth, func.id) or _function(source, node, depth, "", func.id)
    if not isinstance(func, ast.Attribute):
        raise source.error(source.offset(node.col_offset), "only a function or a method can be called")
    owner = dotted(func.value)
    if owner in names.NAMESPACES or owner in NUMPY:
        if owner == "torch" and func.attr == "numel" and node.args:
            return plan_word(source, node, depth, "numel")  # type: ignore[return-value]
        if "." in owner or not _reads_as_method(node, owner, func.attr):
            return _function(source, node, depth, owner, func.attr)
    return _method(source, node, depth, func)


def _reads_as_method(node: ast.Call, owner: str, name: str) -> bool:
    """Whether `F.sum(0)` can only be meant for a tensor called F: the function would lack its tensor."""
    op = lookup(name)
    if op is None:
        return name in METHOD_WORDS
    if not op.method or not op.parameters or any(key.arg == op.parameters[0].name for key in node.keywords):
        return False
    if owner in _NO_TENSORS:
        return not node.args and not node.keywords
    given = len(node.args) + len(node.keywords)
    if not node.args or given < sum(p.required for p in op.parameters):
        return True
    numbers = [signed(arg) is not None for arg in node.args]
    return all(numbers) or (numbers[0] and not op.elementwise)


# Ops ---------------------------------------------------------------------------------------------


def _function(source: Source, node: ast.Call, depth: int, namespace: str, name: str) -> Plan:
    op = names.find_op(namespace, name) if namespace not in NUMPY else None
    if op is None:
        called = f"{namespace}.{name}" if namespace else name
        raise source.error(source.name_at(node.func, name), f"there is no op '{called}'", _op_hint(namespace, name))
    return _op_call(source, node, op, [(arg, depth + 1) for arg in node.args], depth)


def _op_hint(namespace: str, name: str) -> str:
    plain = name.rstrip("_")
    if name in names.INSTEAD:
        return names.INSTEAD[name]
    if plain != name and lookup(plain):
        return f"an op in place is not part of the language; write {plain}"
    if namespace and (found := lookup(name)):
        return f"write {found.name}(…)"
    if name in PROPERTIES:
        return f"write x.{name}"
    words = [*TABLE, *ALIASES, *WORDS]
    prefix = names.NAMESPACES.get(namespace, ("",))[0]
    return did_you_mean(name, [w.removeprefix(prefix) for w in words if w.startswith(prefix)],
                        "`gradcheck ops` lists them all")  # fmt: skip


def _method(source: Source, node: ast.Call, depth: int, func: ast.Attribute) -> Plan:
    name, at = func.attr, source.name_at(func, func.attr)
    word = plan_word_method(source, node, depth, func.value, name)
    if word is not None:
        return word
    if name in PROPERTIES:
        raise source.error(at, f"'{name}' is not called", f"write x.{name}")
    op = lookup(name)
    if op is None:
        raise source.error(at, f"there is no method '{name}'", _method_hint(name))
    if not op.method:
        raise source.error(at, f"'{name}' is no method", f"it is a function: {op.signature}")
    args = [(func.value, depth), *((arg, depth + 1) for arg in node.args)]
    if op.name == "where" and len(args) > 1:  # x.where(condition, y) is where(condition, x, y)
        args[0], args[1] = args[1], args[0]
    return _op_call(source, node, op, args, depth)


def _method_hint(name: str) -> str:
    plain = name.rstrip("_")
    if name in names.INSTEAD:
        return names.INSTEAD[name]
    if plain != name and lookup(plain):
        return f"an op in place is not part of the language; write .{plain}(…)"
    methods = [word for word in (*TABLE, *ALIASES) if "." not in word and (found := lookup(word)) and found.method]
    return did_you_mean(name, [*methods, *METHOD_WORDS], "`gradcheck ops` lists the ops")


def _op_call(source: Source, node: ast.Call, op: Op, args: list[tuple[ast.expr, int]], depth: int) -> Plan:
    keys = tuple(_keyword(source, op, keyword) for keyword in node.keywords) if node.keywords else ()
    children = args + [(keyword.value, depth + 1) for keyword in node.keywords]
    return children, partial(_build, source, op, source.offset(node.col_offset), len(args), keys)


def _keyword(source: Source, op: Op, keyword: ast.keyword) -> str:
    at = source.offset(keyword.col_offset)
    if keyword.arg is None:
        raise source.error(at, "an unpacking ** is not part of the language", "write the arguments out")
    known = [parameter.name for parameter in op.parameters]
    name = keyword.arg if keyword.arg in known else KEYWORD_ALIASES.get(keyword.arg, keyword.arg)
    if name not in known:
        instead = names.INSTEAD.get(name, f"its signature is {op.signature}")
        hint = did_you_mean(name, known, instead)
        raise source.error(at, f"{op.name} has no argument '{keyword.arg}'", hint)
    return name


def _build(source: Source, op: Op, at: int, positional: int, keys: tuple[str, ...], parts: list[Expr]) -> Expr:
    args, kwargs = tuple(parts[:positional]), tuple(zip(keys, parts[positional:], strict=True))
    if len(set(keys)) < len(keys):
        raise source.error(at, f"{op.name} is given an argument twice", f"its signature is {op.signature}")
    try:
        op.bind(args, dict(kwargs))
    except ArgumentError as error:
        raise source.error(at, error.message, error.hint) from None
    return Call(op.name, args, kwargs, at=at)
