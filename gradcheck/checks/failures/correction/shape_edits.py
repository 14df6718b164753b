"""Edits of an expression that cannot be computed: what shapes that do not fit, or a list that is none, come from."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

import numpy as np

from gradcheck.checks.failures.correction.edits import Edit, kept_dim, transposed
from gradcheck.checks.failures.correction.expression_pool import is_op
from gradcheck.checks.failures.correction.edit_position import Position
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence, Slice
from gradcheck.language.expr.printer import to_text

_PRODUCTS = ("dot", "mv", "mm", "bmm", "inner")
#: How alike the names of two tensors are that may be taken for each other.
_ALIKE = 0.5


def listed(at: Position) -> Iterator[int]:
    """`cat([x, y])` for `cat(x, y)`."""
    node = at.node
    if is_op(node, "cat", "stack", "hstack", "vstack", "dstack", "column_stack") and len(at.below) > 1:
        assert isinstance(node, Call)
        yield at.pool.add(Call(node.op, (Sequence(node.args),), node.kwargs))


def as_matmul(at: Position) -> Iterator[int]:
    """`x @ y` for `dot(x, y)`."""
    if is_op(at.node, *_PRODUCTS) and len(at.below) == 2:
        yield at.pool.call("matmul", *at.below)


def arguments_swapped(at: Position) -> Iterator[int]:
    """The first two arguments of a function the other way round."""
    node = at.node
    if isinstance(node, Call) and len(node.args) > 1 and not is_op(node, "getitem", "add", "sub", "mul", "div"):
        first, second, *rest = at.below
        yield at.pool.like(node, (second, first, *rest))


def as_column(at: Position) -> Iterator[int]:
    """`b[:, None]` for `b`, beside a matrix."""
    if at.ndim != 1 or at.parent is None or not is_op(at.parent, "add", "sub", "mul", "div"):
        return
    beside = [at.pool.array(at.pool.add(child)) for child in at.parent.children]
    if any(array is not None and array.ndim > 1 for array in beside):
        index = Sequence((Slice(), Literal(None)), is_tuple=True)
        yield at.pool.add(Call("getitem", (at.node, index)))


def similar_name(at: Position) -> Iterator[int]:
    """Another tensor, whose name is nearly the same: `W1` for `W2`."""
    node = at.node
    if isinstance(node, Name):
        for name, value in at.pool.names.items():
            alike = SequenceMatcher(None, node.name, name).ratio() >= _ALIKE
            if name != node.name and alike and isinstance(value, np.ndarray):
                yield at.pool.add(Name(name))


def transposed_factor(at: Position) -> Iterator[int]:
    """A transpose added to a factor of a product of matrices, or taken away."""
    if at.parent is not None and is_op(at.parent, "matmul", "mm", "bmm", "mv", "linear"):
        yield from transposed(at)


def transposed_term(at: Position) -> Iterator[int]:
    """The same of what is added, or multiplied by elements."""
    if at.parent is not None and is_op(at.parent, "add", "sub", "mul", "div"):
        yield from transposed(at)


def batched(at: Position) -> Iterator[int]:
    """`K.mT` for `K.T` of a batch of matrices, `flatten(x, 1)` for `flatten(x)` of a batch of rows."""
    array = at.pool.array(at.below[0]) if len(at.below) == 1 else None
    if array is not None and array.ndim > 2 and is_op(at.node, "T"):
        yield at.pool.call("mT", at.below[0])
    if array is not None and array.ndim > 1 and is_op(at.node, "flatten", "ravel"):
        yield at.pool.call("flatten", at.below[0], at.pool.literal(1))


def as_flag(at: Position) -> Iterator[int]:
    """`keepdim=True` for `keepdim=1`."""
    node = at.node
    if isinstance(node, Call) and any(isinstance(value, Literal) and value.value == 1 for _, value in node.kwargs):
        kwargs = ((name, Literal(True) if name == "keepdim" else value) for name, value in node.kwargs)
        yield at.pool.add(Call(node.op, node.args, tuple(kwargs)))


def turned(at: Position) -> Iterator[int]:
    """`y @ x` for `x @ y`."""
    if is_op(at.node, "matmul", "mm", "bmm", "mv"):
        yield at.pool.like(at.node, at.below[::-1])


def other_product(at: Position) -> Iterator[int]:
    """`x @ y` for `x * y`, and the other way round."""
    if is_op(at.node, "mul", "matmul"):
        yield at.pool.call("matmul" if is_op(at.node, "mul") else "mul", *at.below)


#: Each with how unlikely it is.
EDITS: tuple[tuple[Edit, float], ...] = (
    (listed, 1.0),
    (as_matmul, 1.0),
    (as_flag, 0.8),
    (turned, 0.9),
    (batched, 0.9),
    (other_product, 1.0),
    (kept_dim, 1.0),
    (transposed_factor, 1.1),
    (arguments_swapped, 1.2),
    (similar_name, 1.4),
    (as_column, 1.6),
    (transposed_term, 3.0),
)


def shown(expr: Expr, most: int = 40) -> str:
    """A part of an entry, short enough for a sentence."""
    text = to_text(expr)
    return text if len(text) <= most else f"{text[: most - 1]}…"
