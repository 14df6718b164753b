"""Calls of other sizes, in batches, with other arguments, against torch.

Each sample of each op is called again with another size wherever one stands, with each number and flag in it changed,
with five of each tensor in one batch, and with the first part of each alone. Where torch takes that, it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import Op, dtypes
from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.recording import rebuild
from gradcheck.errors import GradcheckError
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import rewrite
from gradcheck.language.random_streams import RANDOM_OPS
from tests.autograd import table
from tests.autograd.test_edges import is_asked
from tests.autograd.test_table import COMPARED, torchs_answer
from tests.sampling import evenly_spread
from tests.tables import for_each_by_family

#: What is nobody's fault there.
APART = {
    "corrcoef": "of one variable its gradient is 0 but for rounding",
    "cosine_similarity": "along a dimension of 1 its gradient is 0 but for rounding",
    "hardtanh": "torch's gradient of NaN depends on where in memory it stands",
    "median": "of several in the middle torch shares",
    "nanmedian": "of several in the middle torch shares",
}
#: What makes tensors of sizes.
CREATORS = RANDOM_OPS | {"zeros", "ones", "eye"}


# Of texts ----------------------------------------------------------------------------------------------


def literals_within(expr: Expr, makers: frozenset[str] | set[str]) -> set[int]:
    """The literals, by identity, in calls of these."""
    calls = [part for part in expr.walk() if isinstance(part, Call) and part.op in makers]
    return {id(node) for call in calls for node in call.walk() if isinstance(node, Literal)}


def in_other_sizes(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """One size made larger wherever it stands, each in turn."""
    within = literals_within(expr, CREATORS)
    sizes = [node for node in expr.walk() if id(node) in within and type(getattr(node, "value", None)) is int]
    for size in sorted({int(node.value) for node in sizes if isinstance(node, Literal)}):
        same = {id(node) for node in sizes if isinstance(node, Literal) and node.value == size}
        yield f"{size} as {size + 2}", with_value(expr, same, size + 2)


def with_other_arguments(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Each number and flag that is no size changed a little, one at a time."""
    left_out = literals_within(expr, CREATORS | {"tensor"})
    for node in expr.walk():
        if isinstance(node, Literal) and id(node) not in left_out and isinstance(node.value, (bool, int, float)):
            value = other_than(node.value)
            yield f"{node.value} at {node.at} as {value}", with_value(expr, {id(node)}, value)


def other_than(value: float) -> float:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else 0.75 * value


def with_value(expr: Expr, places: set[int], value: Any) -> Expr:
    return rewrite(expr, lambda node: replace(node, value=value) if id(node) in places else node)


def called(op: Op, expr: Expr, owner: str) -> Iterator[Application]:
    """The call, unless it is refused."""
    try:
        found = table.application_in(op, expr, table.generator(op))
    except (GradcheckError, ValueError, AssertionError):
        return
    yield replace(found, owner=owner)


# Of arrays ---------------------------------------------------------------------------------------------


def five_of(array: np.ndarray) -> np.ndarray:
    """Return five arrays of these numbers in other orders and sizes.

    Square matrices are transposed in turns, so that definite ones stay so.
    """
    if array.ndim > 1 and array.shape[-1] == array.shape[-2]:
        parts = [array, array.swapaxes(-1, -2)] * 3
    else:
        parts = [np.roll(array.reshape(-1), turn).reshape(array.shape) for turn in range(5)]
    sizes = (1.0, 1.0, 0.75, 0.875, 0.5) if array.dtype.kind in "fc" else (1,) * 5
    return np.stack([part * size for part, size in zip(parts, sizes, strict=False)]).astype(array.dtype)


def first_of(array: np.ndarray) -> np.ndarray:
    return np.array(array[0]) if array.ndim and len(array) else array


def variations(op: Op) -> Iterator[Application]:
    for sample in op.samples:
        expr = parse(sample)
        for what, other in (*in_other_sizes(expr), *with_other_arguments(expr)):
            yield from called(op, other, f"{sample}, {what}")
    for call in table.calls(op):
        if call.owner in op.samples:
            for change in (five_of, first_of):
                args, kwargs = rebuild(call.args, call.kwargs, change, dtypes.BY_NAME.__getitem__)
                yield replace(call, args=args, kwargs=kwargs, owner=f"{call.owner}, {change.__name__}")


@for_each_by_family([name for name in COMPARED if is_asked(name) and name not in APART], share=2)
def test_values_and_gradients_of_variations_are_torchs(name: str) -> None:
    """Of each op some."""
    asked = ((call, torchs_answer(call)) for call in evenly_spread(list(variations(TABLE[name])), 8))
    problems = [problem for call, want in asked if want for problem in table.disagreements(call, want=want)]
    assert not problems, "\n".join(problems)
