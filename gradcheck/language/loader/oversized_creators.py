"""Creators whose tensors are too large, as far as sizes alone tell. Every part of an expression is looked at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gradcheck.autograd.op import lookup
from gradcheck.errors import InvalidCase, TensorError, TooLarge
from gradcheck.language.evaluation import result_size
from gradcheck.language.evaluation.evaluate import evaluate_node
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.traverse import distinct_nodes, postorder

#: An argument of more elements is not made to see what comes of it.
_MOST = 10_000


def oversized_creators(
    expr: Expr, creators: Sequence[Call], sizes: Mapping[str, int], limit: int
) -> Iterator[tuple[Call, TooLarge]]:
    """Yield each of the creators in an expression that would make more than `limit` elements, with its error.

    What is made of tensors, or of what makes no sense, is told when it is drawn.
    """
    known: dict[int, Any] = {}  # the values of parts that are made of sizes alone, by id
    asked = set(map(id, creators))
    needed = {id(node) for node in distinct_nodes(*(part for call in creators for part in call.children))}
    for node in postorder(expr):
        if isinstance(node, Name):
            if node.name in sizes:
                known[id(node)] = sizes[node.name]
        elif isinstance(node, Literal):
            known[id(node)] = node.value
        elif not isinstance(node, Gradient) and all(id(part) in known for part in node.children):
            parts = [known[id(part)] for part in node.children]
            if isinstance(node, Call) and id(node) in asked and (error := _size_error(node, parts, limit)):
                yield node, error
            elif id(node) in needed:
                with suppress(TensorError, InvalidCase):
                    known[id(node)] = evaluate_node(node, parts, max_elements=_MOST)


def _size_error(call: Call, parts: list[Any], limit: int) -> TooLarge | None:
    """Return why a call of these arguments is too large, if it is."""
    op = lookup(call.op)
    if op is None:
        return None
    count, names = len(call.args), [key for key, _ in call.kwargs]
    try:
        result_size.check(op, tuple(parts[:count]), dict(zip(names, parts[count:], strict=True)), limit)
    except TooLarge as error:
        return error
    except TensorError:
        return None
    return None
