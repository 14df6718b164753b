"""Class labels, which are constant integers, and their one-hot rows."""

from __future__ import annotations

import numpy as np

from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Literal, Sequence
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, integer, is_call, is_product, keyword_dim

_COMPARISONS = frozenset({"ne", "eq", "lt", "le", "gt", "ge"})


def _is_always_true(node: Expr, know: PartProperties) -> bool:
    """Return whether a node compares integers with a number and is all true."""
    if not isinstance(node, Call) or node.op not in _COMPARISONS or len(node.args) != 2:
        return False
    dtype, values = know.dtype(node.args[0]), know.values(node)
    if dtype is None or dtype.kind not in "iu" or not isinstance(node.args[1], Literal) or values is None:
        return False
    return all(value.all() for value in values)


def drop_ignored_label(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(t != -100, t, 0)` as `t` if no label is -100."""
    if not is_call(node, "where", 3) or not _is_always_true(node.args[0], know):
        return None
    chosen = node.args[1]
    if know.shapes(chosen) == know.shapes(node):
        return chosen
    return Call("expand", (chosen, Attribute(node.args[0].children[0], "shape")))


def number_of_labels(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `x / sum(to(t != -100, d))` as `x / t.numel()`, without a -100."""
    if not is_product(node):
        return None
    product = Product.of(node)
    for below, times in list(product.divisors.values()):
        if times != 1 or not is_call(below, "sum", 1) or not is_call(below.args[0], "to", 2):
            continue
        if not isinstance(below.args[0].args[1], Dtype) or not _is_always_true(below.args[0].args[0], know):
            continue
        labels = below.args[0].args[0].children[0]
        size: Expr = Attribute(labels, "numel")
        if know.ndim(labels) == 1:
            size = Call("getitem", (Attribute(labels, "shape"), Literal(0)))
        product.divisors.pop(id(below))
        return Call("div", (product.render(), size))
    return None


def scatter_as_one_hot(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite a scattered number for each row as `one_hot(t, m) * u`.

    Before, it is `scatter_add(zeros_like(Z), 1, unsqueeze(t, dim=1), u)`.
    """
    if not is_call(node, "scatter_add", 4) or not is_call(node.args[0], "zeros_like", 1):
        return None
    target, dim, index, source = node.args[0].args[0], integer(node.args[1]), node.args[2], node.args[3]
    ndim = know.ndim(node)
    if ndim is None or dim is None or not isinstance(index, Call) or index.op != "unsqueeze":
        return None
    if integer(index.children[-1]) != dim or know.ndim(index) != ndim:
        return None
    classes = Call("getitem", (Attribute(target, "shape"), Literal(dim)))
    rows: Expr = Call("one_hot", (index.children[0], classes))
    if dim != ndim - 1:
        rows = Call("movedim", (rows, Literal(-1), Literal(dim)))
    return Call("mul", (rows, source))


def gather_as_one_hot(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite an index adjoint as `one_hot(t, m) * unsqueeze(u, dim=1)`.

    Before, it is `index_adjoint(u, (i, t), L.shape)`, where i counts the rows.
    """
    if not is_call(node, "index_adjoint", 3) or not isinstance(node.args[1], Sequence) or know.ndim(node) != 2:
        return None
    if len(node.args[1].items) != 2:
        return None
    rows, labels = node.args[1].items
    counted, shapes = know.values(rows), know.shapes(node)
    if counted is None or shapes is None:
        return None
    if not all(np.array_equal(values, np.arange(shape[0])) for values, shape in zip(counted, shapes, strict=True)):
        return None
    size = Call("getitem", (node.args[2], Literal(1)))
    column = Call("unsqueeze", (node.args[0],), (("dim", Literal(1)),))
    return Call("mul", (Call("one_hot", (labels, size)), column))


def sum_of_a_row(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum(one_hot(t, m) * u, dim=1, keepdim=True)` as `u`."""
    if not isinstance(node, Call) or node.op != "sum" or len(node.args) != 1:
        return None
    dtype = know.dtype(node)
    product = Product.of(node.args[0])
    rows = [factor for factor, times in product.factors.values() if times == 1 and _is_rows(factor, node, know)]
    if dtype is None or len(rows) != 1 or len(product.factors) + len(product.divisors) < 2:
        return None
    rest = product.replace_factor(rows[0], None)
    ones = Call("ones_like", (Call("sum", (rows[0],), node.kwargs),))
    return Call("mul", (rest.render(), Call("to", (ones, Dtype(dtype.name)))))


def _is_rows(factor: Expr, node: Call, know: PartProperties) -> bool:
    """Return whether a factor is one_hot, summed over its rows."""
    dim, ndim = keyword_dim(node), know.ndim(factor)
    if dim is None or ndim is None or "keepdim" not in dict(node.kwargs):
        return False
    if is_call(factor, "one_hot", 2):
        return dim % ndim == ndim - 1
    if not is_call(factor, "movedim", 3) or not is_call(factor.args[0], "one_hot", 2):
        return False
    return integer(factor.args[1]) == -1 and integer(factor.args[2]) == dim % ndim


def spread_number(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `reshape(expand(s, a), b)` of one number as `expand(s, b)`."""
    if not isinstance(node, Call) or node.op != "reshape" or len(node.args) != 2:
        return None
    inner = node.args[0]
    if not is_call(inner, "expand", 2) or know.ndim(inner.args[0]) != 0:
        return None
    return Call("expand", (inner.args[0], node.args[1]))


def empty_shape(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `expand(s, ())` as s."""
    if is_call(node, "expand", 2) and isinstance(node.args[1], Sequence) and not node.args[1].items:
        return node.args[0]
    return None
