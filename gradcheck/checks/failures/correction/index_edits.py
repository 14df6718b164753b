"""Edits of indices, slices and steps in time; edits as in `edits`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from gradcheck.checks.failures.correction.edit_position import EditPosition
from gradcheck.checks.failures.correction.expression_pool import is_op
from gradcheck.language.expr.nodes import Literal, Sequence, Slice
from gradcheck.language.symbolic.simplify.product import integer


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
