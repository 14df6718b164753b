"""Operands among the arguments of a Python call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.errors import InvalidCase, UsageError
from gradcheck.language.case import CallArguments
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names, rewrite, substitute

#: A call of a creator, also in a text with a slip, which is nothing to hand on.
_CREATOR = re.compile(r"(rand|uniform|normal|zeros|ones|arange|linspace|full|eye|empty)\w*\(")

#: The first argument of a creator that is a size, or a list of sizes.
_FIRST_SIZE = {"randn": 0, "rand": 0, "zeros": 0, "ones": 0, "normal": 2, "uniform": 2, "randint": 2}

#: Parameters whose tuple of integers is a setting, and no shape of an input.
_SETTING = re.compile(r"(.*_)?(shape|size|strides?|padding|dilation|dims?|axis|axes)")


@dataclass(frozen=True, slots=True)
class SplitArguments:
    """The operands of a call by name, all its arguments, the specification.

    The specification has literals in place of names of numbers, None, text and lists of integers."""

    operands: Mapping[str, Any]
    arguments: CallArguments
    spec: str | None


def split_arguments(given: Mapping[str, Any], spec: str | None, as_torch: bool = False) -> SplitArguments:
    """Return which arguments are operands. Raises UsageError if none is.

    They are shapes, creators, arrays and tensors, also tensors within tuples, lists and dicts. `as_torch` takes tensors
    alone: those that require a gradient, those that the specification names, and all if none requires one."""
    from gradcheck.engines.implementation.call_arguments import leaves_of, operand_of, take_apart

    named = _names_in(spec)
    some_ask = any(_asks(leaf) for value in given.values() for leaf in leaves_of(value))
    operands: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    taken = set(given)
    for name, value in given.items():
        if named and name not in named and is_tensor(value) and not _asks(value):
            objects[name] = value  # such as bounds, which the specification writes as numbers
            continue
        is_setting = isinstance(value, tuple) and _SETTING.fullmatch(name)
        if not is_setting and _is_operand(value, name in named, as_torch, some_ask):
            operands[name] = value
            place = operand_of(name, value)
            objects |= {name: place} if place.is_parameter else {}
            continue
        objects[name], found = take_apart(name, value, lambda one: _is_nested_operand(one, some_ask), taken)
        operands |= found
    if not operands and not as_torch:  # a scalar of NumPy beside arrays is a setting, and alone it is the operand
        operands = {name: objects.pop(name) for name in given if isinstance(given[name], np.inexact)}
    if not operands:
        hint = "give a tensor or an array" + (", a shape or a creator, such as x=(5, 3)" if not as_torch else "")
        raise UsageError("no argument has a gradient to check", hint=hint)
    return SplitArguments(operands, CallArguments(tuple(given), objects, as_torch), _with_literals(spec, objects))


def _is_operand(value: Any, is_named: bool, as_torch: bool, some_ask: bool) -> bool:
    if is_tensor(value):
        return _is_dense(value) and (_asks(value) or is_named or not (as_torch and some_ask))
    return not as_torch and (is_shape(value) or _is_creator(value) or (is_named and _is_list_with_floats(value)))


def _is_nested_operand(value: Any, some_ask: bool) -> bool:
    return is_tensor(value) and _is_dense(value) and (_asks(value) or not some_ask)


def is_shape(value: Any) -> bool:
    """Return whether it is a tuple of sizes."""
    return isinstance(value, tuple) and all(type(size) is int and size >= 0 for size in value)


def with_named_sizes(text: str, sizes: dict[str, int]) -> str:
    """Return a creator with names in place of the sizes that it writes."""

    def named(size: Expr) -> Expr:
        if isinstance(size, Sequence):
            return size.rebuild([named(one) for one in size.items])
        number = size.value if isinstance(size, Literal) else None
        return Name(size_name(number, sizes)) if type(number) is int and number > 1 else size

    def with_names(node: Expr) -> Expr:
        if not isinstance(node, Call) or node.op not in _FIRST_SIZE:
            return node
        first = _FIRST_SIZE[node.op]
        keywords = tuple((name, named(value) if name == "size" else value) for name, value in node.kwargs)
        return replace(node, args=(*node.args[:first], *map(named, node.args[first:])), kwargs=keywords)

    try:
        return to_text(rewrite(parse(text), with_names))
    except InvalidCase:  # told where the case is loaded
        return text


def size_name(size: int, sizes: dict[str, int]) -> str:
    """Return the name of a size; sizes of 0 and 1 stay numbers."""
    if size < 2:
        return str(size)
    word = f"n{size}"
    sizes[word] = size
    return word


def is_tensor(value: Any) -> bool:
    """Return whether it is a tensor or an array of numbers, no scalar."""
    if hasattr(value, "requires_grad") and hasattr(value, "detach"):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return hasattr(value, "__array__") and not isinstance(value, np.generic) and kind in tuple("biufcV")


def _asks(value: Any) -> bool:
    return is_tensor(value) and bool(getattr(value, "requires_grad", False))


def _is_dense(value: Any) -> bool:
    """Return whether it is dense. Raises UsageError for a sparse operand."""
    layout = str(getattr(value, "layout", "torch.strided"))
    if layout != "torch.strided" and _asks(value):
        message = f"a tensor of layout {layout} requires a gradient, and gradients are checked of dense tensors"
        raise UsageError(message, hint="give it dense, and make it sparse in the function: lambda x: f(x.to_sparse())")
    return layout == "torch.strided"


def _is_creator(value: Any) -> bool:
    """Return whether a text calls a creator, or is a list or a sum."""
    if not isinstance(value, str):
        return False
    try:
        written = parse(value)
        is_number = not free_names(written) and any(isinstance(node, (Call, Sequence)) for node in written.walk())
    except InvalidCase:
        is_number = False
    return is_number or _CREATOR.search(value) is not None


def _is_list_with_floats(value: Any) -> bool:
    from gradcheck.engines.implementation.call_arguments import leaves_of

    leaves = list(leaves_of(value)) if isinstance(value, (list, tuple)) else []
    return any(isinstance(one, float) for one in leaves) and all(isinstance(one, (int, float)) for one in leaves)


def _names_in(spec: str | None) -> set[str]:
    try:
        return set() if spec is None else set(free_names(parse(spec)))
    except InvalidCase:  # told where the case is loaded
        return set()


def _with_literals(spec: str | None, objects: Mapping[str, Any]) -> str | None:
    written = {name: _literal(objects[name]) for name in objects.keys() & _names_in(spec)}
    known = {name: literal for name, literal in written.items() if literal is not None}
    return to_text(substitute(parse(spec), known)) if spec is not None and known else spec


def _literal(value: Any) -> Expr | None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return Literal(value)
    items = [_literal(one) for one in value] if isinstance(value, (tuple, list)) else [None]
    known = tuple(one for one in items if one is not None)
    return Sequence(known, isinstance(value, tuple)) if len(known) == len(items) else None
