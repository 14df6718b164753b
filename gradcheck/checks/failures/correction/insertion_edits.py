"""Forgotten parts of a derivation, put in; edits as in `edits`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradcheck.checks.failures.correction.edit_position import EditPosition
from gradcheck.checks.failures.correction.expression_pool import is_op
from gradcheck.language.expr.nodes import Attribute, Gradient, Name
from gradcheck.language.expr.terms import split_sign


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
