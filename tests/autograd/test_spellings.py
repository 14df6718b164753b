"""A call by position, by names, or with all defaults is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd import Op
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import TABLE
from tests.autograd import table
from tests.tables import for_each

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def spellings(op: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Arguments]:
    """Yield the arguments by position, by name, and with defaults."""
    bound = dict(zip((p.name for p in op.parameters), op.bind(args, kwargs), strict=True))
    given = len(args) if op.variadic is None else 0
    said = {*kwargs, *(p.name for p in op.parameters[:given])}
    for names in (said, set(bound)):
        if op.variadic is None:
            yield (), {name: value for name, value in bound.items() if name in names}
        last = max((i for i, p in enumerate(op.parameters) if p.name in names and not p.keyword_only), default=-1)
        by_place = op.parameters[: last + 1]
        if op.variadic is None:
            named = {p.name: bound[p.name] for p in op.parameters[last + 1 :] if p.name in names}
            yield tuple(bound[p.name] for p in by_place), named


def bits(made: Any) -> list[tuple[Any, ...]]:
    parts = made if isinstance(made, (tuple, list)) else (made,)
    return [(part.shape, part.dtype, part.tobytes()) for part in map(np.asarray, parts)]


@for_each(sorted(name for name, op in TABLE.items() if not table.is_random(op)))
def test_every_spelling_of_a_call_is_the_same(name: str) -> None:
    op = TABLE[name]
    with using_default_dtype(table.DOUBLE), np.errstate(all="ignore"):
        for call in table.calls(op):
            expected = bits(op(*call.args, **call.kwargs))
            for args, named in spellings(op, call.args, call.kwargs):
                assert bits(op(*args, **named)) == expected, (call.owner, args, named)
