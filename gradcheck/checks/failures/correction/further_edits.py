"""Edits that put parts in, or go throughout a formula; as in `edits`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import combinations, islice, permutations

import numpy as np

from gradcheck.checks.failures.correction.edit_position import EditPosition
from gradcheck.checks.failures.correction.expression_pool import is_op
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.terms import split_sign
from gradcheck.language.expr.traverse import rewrite
from gradcheck.language.symbolic.simplify.product import integer

#: The most pairs of tensors that are exchanged.
_MOST_PAIRS = 10


def add_missing_function(at: EditPosition) -> Iterator[int]:
    """Apply a function of the graph: `abs(x)` for `x`."""
    is_product = is_op(at.node, "mul", "div", "neg")
    if at.is_tensor and not is_product and not isinstance(at.node, Gradient) and not isinstance(at.parent, Attribute):
        for function in at.operands.functions:
            if not is_op(at.node, function) and not (at.parent is not None and is_op(at.parent, function)):
                yield at.pool.call(function, at.part)


def add_missing_path(at: EditPosition) -> Iterator[int]:
    """Add the gradient of a missing path: `grad(d) + grad(e)`."""
    if at.parent is None:
        for term in at.operands.terms:
            if isinstance(at.pool.exprs[term], Gradient) and term not in (at.part, *at.children):
                yield at.pool.call("add", at.part, term)


def add_missing_term(at: EditPosition) -> Iterator[int]:
    """Add a term of the derived formula, or change its sign."""
    if at.parent is None:
        for term in at.operands.terms:
            node = at.pool.exprs[term]
            if term in (at.part, *at.children) or isinstance(node, Gradient):
                continue
            sign, unsigned = split_sign(node)
            if sign < 0:
                yield at.pool.call("sub", at.part, at.pool.add(unsigned))
            else:
                yield at.pool.call("add", at.part, term)


def add_missing_factor(at: EditPosition) -> Iterator[int]:
    """Add a dropped factor, of elements or of a product of matrices."""
    array = at.pool.array(at.part)
    is_alone = at.parent is None or is_op(at.parent, "add", "sub")
    if array is None and is_alone and isinstance(at.pool.value(at.part), float | int):
        array = np.array(at.pool.value(at.part))
    call = at.pool.call
    if array is not None and array.ndim and at.parent is not None and is_op(at.parent, "sum", "mean", "matmul"):
        known = (*at.operands.tensors, *at.operands.parts)
        yield from (call("mul", at.part, other) for other, shape in known if shape == array.shape)
        vectors = (one for one, shape in at.operands.tensors if array.ndim == 2 and shape == array.shape[:1])
        yield from (call("mul", at.part, at.pool.column(one)) for one in vectors)
    if array is None or not at.is_term:
        return
    for part, shape in at.operands.parts:
        if len(shape) <= array.ndim:
            yield call("mul", at.part, part)
            if at.parent is None and is_op(at.pool.exprs[part], "add", "sub"):
                yield call("div", at.part, part)
    for tensor, shape in at.operands.tensors:
        if array.ndim == 2 and len(shape) == 1:  # one number for each row
            yield call("mul", at.part, at.pool.column(tensor))
        if len(shape) <= array.ndim and tensor not in at.children[1:]:  # `x * y / y` has not gained a factor
            yield call("mul", at.part, tensor)
            yield call("div", at.part, tensor)
        if array.ndim == 2 and len(shape) == 2:
            turned = call("T", tensor)
            for factor, (rows, columns) in ((tensor, shape), (turned, shape[::-1])):
                if rows == array.shape[1]:
                    yield call("matmul", at.part, factor)
                if columns == array.shape[0]:
                    yield call("matmul", factor, at.part)


def complete_tensor(at: EditPosition) -> Iterator[int]:
    """Replace a tensor by a part that it is an operand of: `u - v` for `u`."""
    array = at.pool.array(at.part)
    if isinstance(at.node, (Name, Gradient)) and at.parent is not None and array is not None:
        for part, shape in at.operands.parts:
            if shape == array.shape and is_op(at.pool.exprs[part], "add", "sub") and at.part in at.pool.children[part]:
                yield part


def symmetrise(at: EditPosition) -> Iterator[int]:
    """Replace a square matrix X by `(X + X.T) / 2`, and `2 * X` by `X + X.T`."""
    call, array, two = at.pool.call, at.pool.array(at.part), at.pool.literal(2)
    if array is None or array.ndim != 2 or array.shape[0] != array.shape[1]:
        return
    if is_op(at.node, "mul") and at.children[0] == two:
        yield call("add", at.children[1], call("T", at.children[1]))
    elif isinstance(at.node, (Name, Gradient)) and not isinstance(at.parent, Attribute):
        both = call("add", at.part, call("T", at.part))
        yield from (both, call("div", both, two))


def add_missing_condition(at: EditPosition) -> Iterator[int]:
    """Add the side of a branch on which the gradient is 0."""
    array = at.pool.array(at.part)
    if array is None or not at.is_masked_alone or at.is_argument:
        return
    zero = at.pool.literal(0)
    for condition, is_zero in at.operands.conditions:
        where = at.pool.value(condition)
        if np.ndim(where) <= array.ndim and not is_op(at.node, "where"):
            sides = (zero, at.part) if is_zero else (at.part, zero)
            yield at.pool.call("where", condition, *sides)


def add_missing_sum(at: EditPosition) -> Iterator[int]:
    """Add the sum that undoes a broadcast."""
    if at.is_term:
        for dim in range(at.ndim):
            yield at.pool.call("sum", at.part, dim=at.pool.literal(dim))
            yield at.pool.call("sum", at.part, dim=at.pool.literal(dim), keepdim=at.pool.literal(True))


def change_slice(at: EditPosition) -> Iterator[int]:
    """Slice up to a size, or from it on; move a slice by one place."""
    if not isinstance(at.node, Slice) or at.node.step is not None:
        return
    ends = [at.pool.value(bound) for bound in at.children]
    first, last = (0 if bound is None else integer(bound) for bound in (at.node.start, at.node.stop))
    if first is not None and last is not None and first >= 0 >= last:
        for start, stop in ((first - 1, last - 1), (first + 1, last + 1)):
            if start >= 0 >= stop:
                yield at.pool.add(Slice(Literal(start) if start else None, Literal(stop) if stop else None))
    known = (*at.children, *(at.pool.literal(-end) for end in ends if type(end) is int), *at.operands.sizes)
    for bound in dict.fromkeys(known):
        yield at.pool.add_node(Slice(None, at.pool.exprs[bound]), (bound,))
        yield at.pool.add_node(Slice(at.pool.exprs[bound], None), (bound,))


def change_index(at: EditPosition) -> Iterator[int]:
    """Move an index by one place."""
    is_in_list = isinstance(at.parent, Sequence) and any(isinstance(c, Slice) for c in at.parent.children)
    place = integer(at.node) if is_in_list or (at.parent is not None and is_op(at.parent, "getitem")) else None
    if place is not None:
        yield from (at.pool.literal(other) for other in (place - 1, place + 1) if (other < 0) == (place < 0))


def change_step(at: EditPosition) -> Iterator[int]:
    """Replace all tensors, or all gradients, by those a step before or after."""
    if at.parent is None:
        after = {later: earlier for earlier, later in at.operands.before.items()}
        used = dict.fromkeys(part for _, part, _ in at.pool.positions(at.part))
        for known in (at.operands.before, after):
            kinds = (type(at.pool.exprs[part]) for part in used if part in known)
            for kind in dict.fromkeys(kinds):
                changed = {p: known[p] for p in used if p in known and type(at.pool.exprs[p]) is kind}
                yield at.pool.replace_everywhere(at.part, changed)


def exchange_subscripts(at: EditPosition) -> Iterator[int]:
    """Exchange the subscripts of an `einsum`: `ij,i->j` for `ij,j->i`."""
    text = at.node.value if isinstance(at.node, Literal) else None
    if isinstance(text, str) and "->" in text and at.parent is not None and is_op(at.parent, "einsum"):
        inputs, result = text.replace(" ", "").split("->")
        for *operands, last in permutations((*inputs.split(","), result)):
            yield at.pool.literal(",".join(operands) + "->" + last)


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
            yield at.pool.add(rewrite(at.node, partial(_with_dim, dim=dim)))
    for op, other in (("sum", "mean"), ("mean", "sum")):
        if sum(is_op(node, op) for node in calls) > 1:
            yield at.pool.add(rewrite(at.node, partial(_with_op, op=op, other=other)))


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


def _with_dim(node: Expr, dim: int) -> Expr:
    if not isinstance(node, Call) or "dim" not in dict(node.kwargs):
        return node
    return Call(node.op, node.args, tuple({**dict(node.kwargs), "dim": Literal(dim)}.items()))


def _with_op(node: Expr, op: str, other: str) -> Expr:
    return Call(other, node.args, node.kwargs) if isinstance(node, Call) and node.op == op else node
