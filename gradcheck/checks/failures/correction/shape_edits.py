"""Edits of an expression that cannot be computed: what shapes that do not fit, or a list that is none, come from."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

import numpy as np

from gradcheck.autograd.families import MATRIX_PRODUCTS, PRODUCTS
from gradcheck.checks.failures.correction.edit_position import EditPosition
from gradcheck.checks.failures.correction.edits import EditRule, toggle_keepdim, toggle_transpose
from gradcheck.checks.failures.correction.expression_pool import is_op
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence, Slice
from gradcheck.language.expr.printer import to_text

#: How alike the names of two tensors are that may be taken for each other.
_ALIKE = 0.5


def wrap_in_list(at: EditPosition) -> Iterator[int]:
    """`cat([x, y])` for `cat(x, y)`."""
    node = at.node
    if is_op(node, "cat", "stack", "hstack", "vstack", "dstack", "column_stack") and len(at.children) > 1:
        assert isinstance(node, Call)
        yield at.pool.add(Call(node.op, (Sequence(node.args),), node.kwargs))


def use_matmul(at: EditPosition) -> Iterator[int]:
    """`x @ y` for `dot(x, y)`."""
    if is_op(at.node, *MATRIX_PRODUCTS, "inner") and len(at.children) == 2:
        yield at.pool.call("matmul", *at.children)


def swap_arguments(at: EditPosition) -> Iterator[int]:
    """The first two arguments of a function the other way round."""
    node = at.node
    if isinstance(node, Call) and len(node.args) > 1 and not is_op(node, "getitem", "add", "sub", "mul", "div"):
        first, second, *rest = at.children
        yield at.pool.add_node(node, (second, first, *rest))


def use_column(at: EditPosition) -> Iterator[int]:
    """`b[:, None]` for `b`, beside a matrix."""
    if at.ndim != 1 or at.parent is None or not is_op(at.parent, "add", "sub", "mul", "div"):
        return
    beside = [at.pool.array(at.pool.add(child)) for child in at.parent.children]
    if any(array is not None and array.ndim > 1 for array in beside):
        index = Sequence((Slice(), Literal(None)), is_tuple=True)
        yield at.pool.add(Call("getitem", (at.node, index)))


def use_similar_name(at: EditPosition) -> Iterator[int]:
    """Another tensor, whose name is nearly the same: `W1` for `W2`."""
    node = at.node
    if isinstance(node, Name):
        for name, value in at.pool.names.items():
            alike = SequenceMatcher(None, node.name, name).ratio() >= _ALIKE
            if name != node.name and alike and isinstance(value, np.ndarray):
                yield at.pool.add(Name(name))


def transpose_factor(at: EditPosition) -> Iterator[int]:
    """A transpose added to a factor of a product of matrices, or taken away."""
    if at.parent is not None and is_op(at.parent, *PRODUCTS):
        yield from toggle_transpose(at)


def transpose_term(at: EditPosition) -> Iterator[int]:
    """The same of what is added, or multiplied by elements."""
    if at.parent is not None and is_op(at.parent, "add", "sub", "mul", "div"):
        yield from toggle_transpose(at)


def use_batched_op(at: EditPosition) -> Iterator[int]:
    """`K.mT` for `K.T` of a batch of matrices, `flatten(x, 1)` for `flatten(x)` of a batch of rows."""
    array = at.pool.array(at.children[0]) if len(at.children) == 1 else None
    if array is not None and array.ndim > 2 and is_op(at.node, "T"):
        yield at.pool.call("mT", at.children[0])
    if array is not None and array.ndim > 1 and is_op(at.node, "flatten", "ravel"):
        yield at.pool.call("flatten", at.children[0], at.pool.literal(1))


def use_boolean_keepdim(at: EditPosition) -> Iterator[int]:
    """`keepdim=True` for `keepdim=1`."""
    node = at.node
    if isinstance(node, Call) and any(isinstance(value, Literal) and value.value == 1 for _, value in node.kwargs):
        kwargs = ((name, Literal(True) if name == "keepdim" else value) for name, value in node.kwargs)
        yield at.pool.add(Call(node.op, node.args, tuple(kwargs)))


def swap_factors(at: EditPosition) -> Iterator[int]:
    """`y @ x` for `x @ y`."""
    if is_op(at.node, *MATRIX_PRODUCTS):
        yield at.pool.add_node(at.node, at.children[::-1])


def change_product(at: EditPosition) -> Iterator[int]:
    """`x @ y` for `x * y`, and the other way round."""
    if is_op(at.node, "mul", "matmul"):
        yield at.pool.call("matmul" if is_op(at.node, "mul") else "mul", *at.children)


#: Each with how unlikely it is.
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
    """A part of an entry, short enough for a sentence."""
    text = to_text(expr)
    return text if len(text) <= most else f"{text[: most - 1]}…"
