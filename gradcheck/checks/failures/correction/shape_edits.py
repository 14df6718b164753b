"""Edits of an expression that cannot be computed for its shapes or lists."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

import numpy as np

from gradcheck.checks.failures.correction.edit_position import EditPosition
from gradcheck.checks.failures.correction.edits import EditRule, toggle_keepdim, toggle_transpose
from gradcheck.checks.failures.correction.expression_pool import is_op
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence, Slice
from gradcheck.language.expr.printer import to_text

_PRODUCTS = ("dot", "mv", "mm", "bmm", "inner")
#: How similar the names of two exchanged tensors must be.
_ALIKE = 0.5


def wrap_in_list(at: EditPosition) -> Iterator[int]:
    """Replace `cat(x, y)` by `cat([x, y])`."""
    node = at.node
    if is_op(node, "cat", "stack", "hstack", "vstack", "dstack", "column_stack") and len(at.children) > 1:
        assert isinstance(node, Call)
        yield at.pool.add(Call(node.op, (Sequence(node.args),), node.kwargs))


def use_matmul(at: EditPosition) -> Iterator[int]:
    """Replace `dot(x, y)` by `x @ y`."""
    if is_op(at.node, *_PRODUCTS) and len(at.children) == 2:
        yield at.pool.call("matmul", *at.children)


def swap_arguments(at: EditPosition) -> Iterator[int]:
    """Exchange the first two arguments of a function."""
    node = at.node
    if isinstance(node, Call) and len(node.args) > 1 and not is_op(node, "getitem", "add", "sub", "mul", "div"):
        first, second, *rest = at.children
        yield at.pool.add_node(node, (second, first, *rest))


def use_column(at: EditPosition) -> Iterator[int]:
    """Replace `b` beside a matrix by `b[:, None]`."""
    if at.ndim != 1 or at.parent is None or not is_op(at.parent, "add", "sub", "mul", "div"):
        return
    beside = [at.pool.array(at.pool.add(child)) for child in at.parent.children]
    if any(array is not None and array.ndim > 1 for array in beside):
        index = Sequence((Slice(), Literal(None)), is_tuple=True)
        yield at.pool.add(Call("getitem", (at.node, index)))


def use_similar_name(at: EditPosition) -> Iterator[int]:
    """Replace a tensor by one of a similar name: `W2` by `W1`."""
    node = at.node
    if isinstance(node, Name):
        for name, value in at.pool.names.items():
            alike = SequenceMatcher(None, node.name, name).ratio() >= _ALIKE
            if name != node.name and alike and isinstance(value, np.ndarray):
                yield at.pool.add(Name(name))


def transpose_factor(at: EditPosition) -> Iterator[int]:
    """Add or remove a transpose in a product of matrices."""
    if at.parent is not None and is_op(at.parent, "matmul", "mm", "bmm", "mv", "linear"):
        yield from toggle_transpose(at)


def transpose_term(at: EditPosition) -> Iterator[int]:
    """Add or remove a transpose in elementwise arithmetic."""
    if at.parent is not None and is_op(at.parent, "add", "sub", "mul", "div"):
        yield from toggle_transpose(at)


def use_batched_op(at: EditPosition) -> Iterator[int]:
    """Replace `K.T` of a batch by `K.mT`, `flatten(x)` by `flatten(x, 1)`."""
    array = at.pool.array(at.children[0]) if len(at.children) == 1 else None
    if array is not None and array.ndim > 2 and is_op(at.node, "T"):
        yield at.pool.call("mT", at.children[0])
    if array is not None and array.ndim > 1 and is_op(at.node, "flatten", "ravel"):
        yield at.pool.call("flatten", at.children[0], at.pool.literal(1))


def use_boolean_keepdim(at: EditPosition) -> Iterator[int]:
    """Replace `keepdim=1` by `keepdim=True`."""
    node = at.node
    if isinstance(node, Call) and any(isinstance(value, Literal) and value.value == 1 for _, value in node.kwargs):
        kwargs = ((name, Literal(True) if name == "keepdim" else value) for name, value in node.kwargs)
        yield at.pool.add(Call(node.op, node.args, tuple(kwargs)))


def swap_factors(at: EditPosition) -> Iterator[int]:
    """Replace `x @ y` by `y @ x`."""
    if is_op(at.node, "matmul", "mm", "bmm", "mv"):
        yield at.pool.add_node(at.node, at.children[::-1])


def change_product(at: EditPosition) -> Iterator[int]:
    """Replace `x * y` by `x @ y`, or vice versa."""
    if is_op(at.node, "mul", "matmul"):
        yield at.pool.call("matmul" if is_op(at.node, "mul") else "mul", *at.children)


#: Edits with their costs.
EDITS: tuple[tuple[EditRule, float], ...] = (
    (wrap_in_list, 1.0),
    (use_matmul, 1.0),
    (use_boolean_keepdim, 0.8),
    (swap_factors, 0.9),
    (use_batched_op, 0.9),
    (change_product, 1.0),
    (toggle_keepdim, 1.0),
    (transpose_factor, 1.1),
    (swap_arguments, 1.2),
    (use_similar_name, 1.4),
    (use_column, 1.6),
    (transpose_term, 3.0),
)


def shortened_text(expr: Expr, most: int = 40) -> str:
    """Return the text of an expression, cut for a sentence."""
    text = to_text(expr)
    return text if len(text) <= most else f"{text[: most - 1]}…"
