"""How a person would write the same call: dimensions by keyword, tensors of an `einsum` one by one."""

from __future__ import annotations

from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import Call, Expr, Literal, Sequence
from gradcheck.language.symbolic.simplify.facts import Facts

_BY_KEYWORD = frozenset({"dim", "keepdim"})


def dims_by_keyword(node: Expr, know: Facts) -> Expr | None:
    """`sum(x, -1, True)` as `sum(x, dim=-1, keepdim=True)`."""
    entry = lookup(node.op) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or len(node.args) < 2 or entry.variadic is not None:
        return None
    names = [parameter.name for parameter in entry.parameters[: len(node.args)]]
    count = next((i for i, name in enumerate(names) if name in _BY_KEYWORD), len(names))
    if count == 0 or count == len(names) or not _BY_KEYWORD.issuperset(names[count:]):
        return None
    moved = tuple(zip(names[count:], node.args[count:], strict=True))
    return Call(node.op, node.args[:count], (*moved, *node.kwargs))


def lone_dim(node: Expr, know: Facts) -> Expr | None:
    """`mean(x, dim=(-1,))` as `mean(x, dim=-1)`."""
    dims = dict(node.kwargs).get("dim") if isinstance(node, Call) else None
    if not isinstance(node, Call) or not isinstance(dims, Sequence) or len(dims.items) != 1:
        return None
    if not isinstance(dims.items[0], Literal):
        return None
    return Call(node.op, node.args, tuple((n, dims.items[0] if n == "dim" else v) for n, v in node.kwargs))


def tensors_one_by_one(node: Expr, know: Facts) -> Expr | None:
    """`einsum('ij,j->i', (a, b))` as `einsum('ij,j->i', a, b)`."""
    entry = lookup(node.op) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or entry.variadic is None or entry.sequence is None:
        return None
    *before, last = node.args
    if isinstance(last, Sequence) and entry.parameters[len(before)].name == entry.variadic:
        return Call(node.op, (*before, *last.items), node.kwargs)
    return None
