"""Mutations of formulas: operators, transposes, dimensions, factors, sign."""

from __future__ import annotations

from collections.abc import Iterator

from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal
from gradcheck.language.expr.traverse import with_children

#: How many parts of a long formula are mutated, evenly spread.
MAX_PARTS = 24

_PAIRS = (("add", "sub"), ("mul", "div"), ("sum", "mean"), ("sin", "cos"), ("tril", "triu"), ("maximum", "minimum"))
_SWAPPED = {**dict(_PAIRS), **{second: first for first, second in _PAIRS}}
_REDUCTIONS = frozenset({"amax", "amin", "logsumexp", "mean", "prod", "std", "sum", "var"})
_TAKES_DIM = _REDUCTIONS | {"cumprod", "cumsum", "log_softmax", "softmax", "squeeze", "unsqueeze"}


def mutations_of(formula: Expr, factor: float = 1.001) -> Iterator[tuple[Fact, Expr]]:
    """Yield wrong formulas; `factor` is the smallest that must be seen."""
    yield fact("sign_changed"), Call("neg", (formula,))
    yield fact("factor_added", factor=2.0), Call("mul", (Literal(2), formula))
    yield fact("factor_added", factor=factor), Call("mul", (Literal(factor), formula))
    yield fact("transpose_added"), Call("mT", (formula,))
    parts = list(formula.walk())
    step = max(1, -(-len(parts) // MAX_PARTS))
    seen: set[Expr] = set()
    for index in range(0, len(parts), step):
        for kind, part in _part_mutations(parts[index]):
            made = _replaced(formula, index, part)
            if made not in seen and made != formula:
                seen.add(made)
                yield kind, made


def _part_mutations(node: Expr) -> Iterator[tuple[Fact, Expr]]:
    if not isinstance(node, Call):
        return
    if node.op in _SWAPPED and not _is_same_swapped(node):
        other = _SWAPPED[node.op]
        yield fact("op_swapped", old=node.op, new=other), Call(other, node.args, node.kwargs)
    if node.op in ("add", "sub") and len(node.args) == 2 and not node.kwargs:
        left, right = node.args
        yield fact("term_dropped"), left
        yield fact("term_dropped"), right if node.op == "add" else Call("neg", (right,))
    if node.op == "matmul":
        left, right = node.args
        yield fact("factors_exchanged"), Call("matmul", (right, left))
        yield fact("transpose_added"), Call("matmul", (Call("mT", (left,)), right))
        yield fact("transpose_added"), Call("matmul", (left, Call("mT", (right,))))
    if node.op in ("T", "mT"):
        yield fact("transpose_removed"), node.args[0]
    if node.op == "pow" and isinstance(node.args[1], Literal) and type(node.args[1].value) is int:
        yield fact("power_changed"), Call("pow", (node.args[0], Literal(node.args[1].value + 1)))
    yield from _other_dims(node)


def _is_same_swapped(node: Call) -> bool:
    """Return whether it multiplies or divides by a sign: only 0 differs."""
    second = node.args[1] if node.op in ("mul", "div") else None
    return isinstance(second, Call) and second.op in ("sign", "sgn")


def _other_dims(node: Call) -> Iterator[tuple[Fact, Expr]]:
    """Yield the node with another dimension in a size or reduction."""
    if node.op == "getitem" and isinstance(node.args[0], Attribute) and node.args[0].name == "shape":
        other = _other(node.args[1])
        if other is not None:
            yield fact("size_changed"), Call("getitem", (node.args[0], other))
    if node.op not in _TAKES_DIM:
        return
    if len(node.args) > 1 and (other := _other(node.args[1])):
        yield fact("dimension_changed"), Call(node.op, (node.args[0], other, *node.args[2:]), node.kwargs)
    for index, (name, value) in enumerate(node.kwargs):
        other = _other(value) if name == "dim" else None
        if other is not None:
            kwargs = (*node.kwargs[:index], (name, other), *node.kwargs[index + 1 :])
            yield fact("dimension_changed"), Call(node.op, node.args, kwargs)


def _other(dim: Expr) -> Literal | None:
    """Return another dimension than this literal; None if it is none."""
    if isinstance(dim, Call) and dim.op == "neg" and isinstance(dim.args[0], Literal):
        return Literal(0)
    if not isinstance(dim, Literal) or type(dim.value) is not int:
        return None
    return Literal(1 if dim.value == 0 else 0)


def _replaced(root: Expr, index: int, new: Expr) -> Expr:
    """Return the expression with one part replaced, by `walk`'s index."""
    parts = list(root.walk())
    made: list[Expr] = []
    for at in range(len(parts) - 1, -1, -1):  # parts stand before what is below them
        node = parts[at]
        children = [made.pop() for _ in node.children]
        made.append(new if at == index else with_children(node, children) if children else node)
    return made[0]
