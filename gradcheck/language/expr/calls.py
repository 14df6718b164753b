"""What is called in an expression: an op by one of its names, as a function or as a method, or a special form."""

from __future__ import annotations

import ast
from functools import partial

from gradcheck.autograd.op import ALIASES, TABLE, Op, lookup
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.autograd.signature import KEYWORD_ALIASES
from gradcheck.errors import ArgumentError
from gradcheck.language.expr import special_forms
from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.expr.notation import INSTEAD, NAMESPACES, NUMPY, find_op
from gradcheck.language.expr.special_forms import CallSite
from gradcheck.language.expr.syntax import Plan, dotted, signed
from gradcheck.language.suggest import did_you_mean

#: Who would call a tensor so?
_NO_TENSORS = frozenset({"torch", "math", *NUMPY})


def plan_call(site: CallSite) -> Plan:
    """How to read a call. Raises InvalidCase where nothing of that name can be called, or not with these keywords."""
    node, func = site.node, site.node.func
    if isinstance(func, ast.Name):
        return special_forms.plan_function(site, func.id) or _function(site, "", func.id)
    if not isinstance(func, ast.Attribute):
        raise site.error("only a function or a method can be called")
    owner = dotted(func.value)
    if owner in NAMESPACES or owner in NUMPY:
        if owner == "torch" and func.attr == "numel" and node.args:
            return special_forms.measure(site, "numel")
        if "." in owner or not _reads_as_method(node, owner, func.attr):
            return _function(site, owner, func.attr)
    return _method(site, func)


def _reads_as_method(node: ast.Call, owner: str, name: str) -> bool:
    """Whether `F.sum(0)` can only be meant for a tensor called F: the function would lack its tensor."""
    op = lookup(name)
    if op is None:
        return name in special_forms.METHODS
    if not op.method or not op.parameters or any(key.arg == op.parameters[0].name for key in node.keywords):
        return False
    if owner in _NO_TENSORS:
        return not node.args and not node.keywords
    given = len(node.args) + len(node.keywords)
    if not node.args or given < sum(p.required for p in op.parameters):
        return True
    numbers = [signed(arg) is not None for arg in node.args]
    return all(numbers) or (numbers[0] and not op.elementwise)


# Ops --------------------------------------------------------------------------------------------


def _function(site: CallSite, namespace: str, name: str) -> Plan:
    op = find_op(namespace, name) if namespace not in NUMPY else None
    if op is None:
        called = f"{namespace}.{name}" if namespace else name
        at = site.source.name_at(site.node.func, name)
        raise site.source.error(at, f"there is no op '{called}'", _op_hint(namespace, name))
    return _op_call(site, op, [(arg, site.depth + 1) for arg in site.node.args])


def _op_hint(namespace: str, name: str) -> str:
    plain = name.rstrip("_")
    if name in INSTEAD:
        return INSTEAD[name]
    if plain != name and lookup(plain):
        return f"an op in place is not part of the language; write {plain}"
    if namespace and (found := lookup(name)):
        return f"write {found.name}(…)"
    if name in PROPERTIES:
        return f"write x.{name}"
    words = [*TABLE, *ALIASES, *special_forms.FUNCTIONS]
    prefix = NAMESPACES.get(namespace, ("",))[0]
    known = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    return did_you_mean(name, known, "`gradcheck ops` lists them all")


def _method(site: CallSite, func: ast.Attribute) -> Plan:
    name, at = func.attr, site.source.name_at(func, func.attr)
    form = special_forms.plan_method(site, func.value, name)
    if form is not None:
        return form
    if name in PROPERTIES:
        raise site.source.error(at, f"'{name}' is not called", f"write x.{name}")
    op = lookup(name)
    if op is None:
        raise site.source.error(at, f"there is no method '{name}'", _method_hint(name))
    if not op.method:
        raise site.source.error(at, f"'{name}' is no method", f"it is a function: {op.signature}")
    args = [(func.value, site.depth), *((arg, site.depth + 1) for arg in site.node.args)]
    if op.name == "where" and len(args) > 1:  # x.where(condition, y) is where(condition, x, y)
        args[0], args[1] = args[1], args[0]
    return _op_call(site, op, args)


def _method_hint(name: str) -> str:
    plain = name.rstrip("_")
    if name in INSTEAD:
        return INSTEAD[name]
    if plain != name and lookup(plain):
        return f"an op in place is not part of the language; write .{plain}(…)"
    ops = ((word, lookup(word)) for word in (*TABLE, *ALIASES) if "." not in word)
    methods = [word for word, op in ops if op is not None and op.method]
    return did_you_mean(name, [*methods, *special_forms.METHODS], "`gradcheck ops` lists the ops")


def _op_call(site: CallSite, op: Op, args: list[tuple[ast.expr, int]]) -> Plan:
    keywords = site.node.keywords
    keys = tuple(_keyword(site, op, keyword) for keyword in keywords)
    children = args + [(keyword.value, site.depth + 1) for keyword in keywords]
    return children, partial(_build, site, op, keys)


def _keyword(site: CallSite, op: Op, keyword: ast.keyword) -> str:
    at = site.source.at(keyword)
    if keyword.arg is None:
        raise site.source.error(at, "an unpacking ** is not part of the language", "write the arguments out")
    known = [parameter.name for parameter in op.parameters]
    name = keyword.arg if keyword.arg in known else KEYWORD_ALIASES.get(keyword.arg, keyword.arg)
    if name not in known:
        hint = did_you_mean(name, known, INSTEAD.get(name, f"its signature is {op.signature}"))
        raise site.source.error(at, f"{op.name} has no argument '{keyword.arg}'", hint)
    return name


def _build(site: CallSite, op: Op, keys: tuple[str, ...], parts: list[Expr]) -> Expr:
    positional = len(parts) - len(keys)
    args, kwargs = tuple(parts[:positional]), tuple(zip(keys, parts[positional:], strict=True))
    if len(set(keys)) < len(keys):
        raise site.error(f"{op.name} is given an argument twice", f"its signature is {op.signature}")
    try:
        op.bind(args, dict(kwargs))
    except ArgumentError as error:
        raise site.error(error.message, error.hint) from None
    return Call(op.name, args, kwargs, at=site.at)
