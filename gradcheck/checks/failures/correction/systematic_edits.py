"""Edits of a slip that is made at every occurrence; edits as in `edits`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, islice

import numpy as np

from gradcheck.checks.failures.correction.edit_position import EditPosition
from gradcheck.checks.failures.correction.expression_pool import is_op
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.traverse import rewrite

#: The most pairs of tensors that are exchanged.
_MOST_PAIRS = 10


def change_tensor_throughout(at: EditPosition) -> Iterator[int]:
    """Replace a tensor by another throughout a formula, or a product."""
    for part, array in _repeated(at, is_within=is_op(at.node, "mul")):
        for other in at.operands.of_shape(array.shape, part):
            yield at.pool.replace_everywhere(at.part, {part: other})


def scale_tensor_throughout(at: EditPosition) -> Iterator[int]:
    """Multiply a tensor by another wherever it occurs."""
    for part, array in _repeated(at):
        for other, shape in at.operands.tensors:
            if other != part and len(shape) <= array.ndim:
                yield at.pool.replace_everywhere(at.part, {part: at.pool.call("mul", part, other)})


def exchange_tensors(at: EditPosition) -> Iterator[int]:
    """Exchange two tensors of one shape."""
    arrays = [(part, array) for part in _tensors(at) if (array := at.pool.array(part)) is not None]
    pairs = (pair for pair in combinations(arrays, 2) if pair[0][1].shape == pair[1][1].shape)
    for (one, _), (other, _) in islice(pairs, _MOST_PAIRS):
        yield at.pool.replace_everywhere(at.part, {one: other, other: one})


def change_reductions(at: EditPosition) -> Iterator[int]:
    """Change the dimension of all reductions, or `sum` to `mean` and back."""
    if at.parent is not None:
        return
    calls = [at.pool.exprs[part] for _, part, _ in at.pool.positions(at.part)]
    reductions = [node for node in calls if isinstance(node, Call) and "dim" in dict(node.kwargs)]
    if len(reductions) > 1:
        for dim in range(max(at.ndim, 0)):
            yield _rewritten(at, lambda node, dim=dim: _with_dim(node, dim))  # type: ignore[misc]
    for op, other in (("sum", "mean"), ("mean", "sum")):
        if sum(is_op(node, op) for node in calls) > 1:
            yield _rewritten(at, lambda node, op=op, other=other: _with_op(node, op, other))  # type: ignore[misc]


def _repeated(at: EditPosition, is_within: bool = False) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the tensors that occur several times in a formula, or in a part."""
    for part, count in _tensors(at, is_within).items():
        array = at.pool.array(part) if count > 1 else None
        if array is not None:
            yield part, array


def _tensors(at: EditPosition, is_within: bool = False) -> Counter[int]:
    """Count the uses of each tensor in a whole formula, or in a part."""
    uses = (part for _, part, _ in at.pool.positions(at.part) if is_within or at.parent is None)
    return Counter(part for part in uses if isinstance(at.pool.exprs[part], (Name, Gradient)))


def _rewritten(at: EditPosition, change: Callable[[Expr], Expr]) -> int:
    return at.pool.add(rewrite(at.node, change))


def _with_dim(node: Expr, dim: int) -> Expr:
    if not isinstance(node, Call) or "dim" not in dict(node.kwargs):
        return node
    return Call(node.op, node.args, tuple({**dict(node.kwargs), "dim": Literal(dim)}.items()))


def _with_op(node: Expr, op: str, other: str) -> Expr:
    return Call(other, node.args, node.kwargs) if isinstance(node, Call) and node.op == op else node
