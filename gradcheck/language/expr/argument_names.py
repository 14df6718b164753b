"""Arguments with another name in one form of a function than in another.

For example `scatter(x, 0, i, value=2)`.
"""

from __future__ import annotations

import ast
from typing import TypeAlias

from gradcheck.autograd.op import Op

#: Other names of an argument, and its place.
_BY_PLACE = {
    "split": {"split_size": 1},
    "tensor_split": {"indices": 1},
    **{name: {"sections": 1, "indices": 1} for name in ("hsplit", "vsplit", "dsplit")},
    "scatter": {"value": 3},
}
#: Arguments by place, each with its depth.
Placed: TypeAlias = list[tuple[ast.expr, int]]


def place_arguments(op: Op, args: Placed, keywords: list[ast.keyword], depth: int) -> tuple[Placed, list[ast.keyword]]:
    """Return positional and keyword arguments, renamed ones at their places."""
    named = {keyword.arg: keyword for keyword in keywords}
    place = next((place for name, place in _BY_PLACE.get(op.name, {}).items() if name in named), None)
    names = [parameter.name for parameter in op.parameters[:place]]
    if place is None or len(args) > place or not named.keys() >= set(names[len(args) :]):
        return args, keywords
    others = [named.pop(name) for name in names[len(args) :]]
    last = named.pop(next(name for name in _BY_PLACE[op.name] if name in named))
    return [*args, *((keyword.value, depth) for keyword in (*others, last))], list(named.values())
