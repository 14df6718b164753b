"""Mistakes in formulas, as small edits: an operator, a transpose, a dimension, a factor, a sign, a term."""

from __future__ import annotations

from collections.abc import Iterator

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal
from gradcheck.language.expr.traverse import walk, with_children

#: In a longer formula mistakes are planted in so many of its parts, spread evenly.
MAX_PARTS = 24

_SWAPPED = {"add": "sub", "sub": "add", "mul": "div", "div": "mul", "sum": "mean", "mean": "sum", "sin": "cos",
            "cos": "sin", "tril": "triu", "triu": "tril", "maximum": "minimum", "minimum": "maximum"}  # fmt: skip
_WORDS = {"sum": "a mean for a sum", "mean": "a sum for a mean"}
_TAKES_DIM = frozenset({"sum", "mean", "softmax", "log_softmax", "logsumexp", "cumsum", "cumprod", "amax", "amin",
                        "unsqueeze", "squeeze", "var", "std", "prod"})  # fmt: skip


def mistakes(formula: Expr, factor: float = 1.001) -> Iterator[tuple[str, Expr]]:
    """Wrong formulas, each with what was done to it; `factor` is the smallest that must be seen."""
    yield "a sign", Call("neg", (formula,))
    yield "a factor of 2", Call("mul", (Literal(2), formula))
    yield f"a factor of {factor:g}", Call("mul", (Literal(factor), formula))
    yield "a transpose added", Call("mT", (formula,))
    parts = list(walk(formula))
    step = max(1, -(-len(parts) // MAX_PARTS))
    seen: set[Expr] = set()
    for index in range(0, len(parts), step):
        for what, part in _of_part(parts[index]):
            made = _replaced(formula, index, part)
            if made not in seen and made != formula:
                seen.add(made)
                yield what, made


def _of_part(node: Expr) -> Iterator[tuple[str, Expr]]:
    if not isinstance(node, Call):
        return
    if node.op in _SWAPPED:
        yield _WORDS.get(node.op, f"{_SWAPPED[node.op]} for {node.op}"), Call(_SWAPPED[node.op], node.args, node.kwargs)
    if node.op in ("add", "sub") and len(node.args) == 2 and not node.kwargs:
        left, right = node.args
        yield "a term dropped", left
        yield "a term dropped", right if node.op == "add" else Call("neg", (right,))
    if node.op == "matmul":
        left, right = node.args
        yield "factors exchanged", Call("matmul", (right, left))
        yield "a transpose added", Call("matmul", (Call("mT", (left,)), right))
        yield "a transpose added", Call("matmul", (left, Call("mT", (right,))))
    if node.op in ("T", "mT"):
        yield "a transpose removed", node.args[0]
    if node.op == "pow" and isinstance(node.args[1], Literal) and type(node.args[1].value) is int:
        yield "another power", Call("pow", (node.args[0], Literal(node.args[1].value + 1)))
    yield from _other_dims(node)


def _other_dims(node: Call) -> Iterator[tuple[str, Expr]]:
    if node.op == "getitem" and isinstance(node.args[0], Attribute) and node.args[0].name == "shape":
        other = _other(node.args[1])
        if other is not None:
            yield "another size", Call("getitem", (node.args[0], other))
    if node.op not in _TAKES_DIM:
        return
    if len(node.args) > 1 and (other := _other(node.args[1])) is not None:
        yield "another dimension", Call(node.op, (node.args[0], other, *node.args[2:]), node.kwargs)
    for index, (name, value) in enumerate(node.kwargs):
        if name == "dim" and (other := _other(value)) is not None:
            kwargs = (*node.kwargs[:index], (name, other), *node.kwargs[index + 1 :])
            yield "another dimension", Call(node.op, node.args, kwargs)


def _other(dim: Expr) -> Literal | None:
    if isinstance(dim, Call) and dim.op == "neg" and isinstance(dim.args[0], Literal):
        return Literal(0)
    if not isinstance(dim, Literal) or type(dim.value) is not int:
        return None
    return Literal(1 if dim.value == 0 else 0)


def _replaced(root: Expr, index: int, new: Expr) -> Expr:
    """The expression with another part at this place in `walk`'s order; without recursion."""
    parts = list(walk(root))
    made: list[Expr] = []
    for at in range(len(parts) - 1, -1, -1):  # parts stand before what is below them
        node = parts[at]
        count = len(node.children)
        children = [made.pop() for _ in range(count)]
        made.append(new if at == index else with_children(node, children) if children else node)
    return made[0]
