"""Formulas as a person would write them: small rewrite rules, applied from the leaves up until none applies.

A rule is a function from an expression and the facts about it to a shorter expression, or None. Whatever it makes must
have the shape, the dtype and, up to rounding, the values of what it replaces, at every point that the facts know; so
a rule may be simple-minded. Nothing here recurses; the work is linear in the number of different parts.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.expr.sharing import Pool
from gradcheck.language.expr.traverse import with_children
from gradcheck.language.symbolic.simplify import elementwise, products, shapes, style, sums
from gradcheck.language.symbolic.simplify.facts import Facts, Point

#: In this order; the first that applies decides, and what it makes is simplified in turn.
RULES: tuple[elementwise.Rule, ...] = (
    shapes.gradient_of_a_root,
    shapes.shape_of_a_gradient,
    shapes.shape_by_name,
    shapes.like_by_name,
    shapes.size_by_name,
    shapes.reshape_to_itself,
    shapes.reshape_twice,
    shapes.rearranged_to_itself,
    shapes.kept_and_squeezed,
    shapes.diagonal_of_one_number,
    shapes.identity_product,
    shapes.expanded_one,
    shapes.double_transpose,
    shapes.transpose_by_name,
    shapes.transposed_product,
    shapes.sum_over_dims,
    shapes.index_of_one,
    shapes.open_slice,
    shapes.whole_slice,
    elementwise.double_negation,
    elementwise.first_power,
    elementwise.conjugate_of_a_conjugate,
    elementwise.conjugate_inwards,
    elementwise.cast_to_itself,
    elementwise.cast_of_a_half,
    elementwise.expansion_outwards,
    elementwise.operand_by_itself,
    products.all_sizes,
    products.lift_expand,
    products.number_outwards,
    products.outer_product,
    products.normal_product,
    style.dims_by_keyword,
    style.lone_dim,
    style.written_out,
)
#: More rewrites than this for each part would be a circle among the rules; what is found by then is kept.
_PATIENCE = 60


class Simplifier:
    """Simplifies formulas that have parts in common; each part once."""

    def __init__(self, know: Facts, rules: tuple[elementwise.Rule, ...] = RULES) -> None:
        self._know, self._rules = know, rules
        self._done: dict[int, Expr] = {}
        self._uses: dict[int, int] = {}
        self._left = 0

    def simplify(self, formulas: Mapping[str, Expr]) -> dict[str, Expr]:
        """The formulas, each shorter or as it was."""
        roots = {name: self._know.pool.intern(formula) for name, formula in formulas.items()}
        self._count(list(roots.values()))
        return {name: _root(self._simplified(root), self._know) for name, root in roots.items()}

    def _count(self, roots: list[Expr]) -> None:
        """How many parts, and how many formulas, use each part."""
        seen: set[int] = set()
        stack = list(roots)
        for root in roots:
            self._uses[id(root)] = self._uses.get(id(root), 0) + 1
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for child in node.children:
                self._uses[id(child)] = self._uses.get(id(child), 0) + 1
                stack.append(child)
        self._left += _PATIENCE * len(seen)

    def _is_shared(self, node: Expr) -> bool:
        return self._uses.get(id(node), 0) > 1

    def _simplified(self, root: Expr) -> Expr:
        done = self._done
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
                continue
            is_sum = isinstance(node, Call) and node.op in sums.OPS and len(node.args) == 2 and not node.kwargs
            parts = sums.spine(node, self._is_shared) if is_sum else [(child, 1) for child in node.children]
            missing = [part for part, _ in parts if id(part) not in done]
            if missing:
                stack.extend(reversed(missing))
                continue
            ready = [(done[id(part)], sign) for part, sign in parts]
            new = self._sum(node, ready) if is_sum else self._rewritten(node, [part for part, _ in ready])
            if new is node:
                done[id(node)] = node
            elif id(new) in done:
                done[id(node)] = done[id(new)]
            else:
                stack.append(new)
        return done[id(root)]

    def _sum(self, node: Expr, parts: list[tuple[Expr, int]]) -> Expr:
        total = self._know.shapes(node)
        if self._left <= 0 or (total is None and not self._know.is_number(node)):
            return self._rewritten(node, [self._done.get(id(child), child) for child in node.children])
        new = self._know.pool.intern(sums.normal_sum(parts, total, self._know))
        if new is node or not self._know.alike(node, new):
            return node
        self._left -= 1
        return new

    def _rewritten(self, node: Expr, children: list[Expr]) -> Expr:
        """One step: with simplified parts, or else by the first rule that applies; itself if none does."""
        rebuilt = self._know.pool.intern(with_children(node, children)) if children else node
        if rebuilt is not node:
            return rebuilt
        for rule in self._rules if self._left > 0 else ():
            made = rule(node, self._know)
            new = node if made is None else self._know.pool.intern(made)
            if new is not node and self._know.alike(node, new):
                self._left -= 1
                return new
        return node


def _root(formula: Expr, know: Facts) -> Expr:
    """A formula as a whole may be a number where a part may not: `1` for `ones_like(loss)`."""
    number = products.Product.of(formula)
    if number.is_ones() and know.ndim(formula) == 0:
        return products.Product(number.number).render()
    return formula


__all__ = ["RULES", "Facts", "Point", "Pool", "Simplifier"]
