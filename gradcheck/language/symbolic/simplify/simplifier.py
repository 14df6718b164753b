"""Simplifier: applies the rules to formulas that have parts in common, to each part once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import with_children
from gradcheck.language.symbolic.simplify import sums
from gradcheck.language.symbolic.simplify.facts import Facts
from gradcheck.language.symbolic.simplify.product import Product
from gradcheck.language.symbolic.simplify.rules import RULES, Rule

#: More rewrites than this for each part would be a circle among the rules; what is found by then is kept.
_PATIENCE = 60


class Simplifier:
    """Simplifies formulas by the rules, as far as the facts bear them out."""

    def __init__(self, know: Facts, rules: tuple[Rule, ...] = RULES) -> None:
        self._know, self._rules = know, rules
        self._done: dict[int, Expr] = {}
        self._uses: Counter[int] = Counter()
        self._left = 0  # rewrites

    def simplify(self, formulas: Mapping[str, Expr]) -> dict[str, Expr]:
        """The formulas, each shorter or as it was."""
        roots = {name: self._know.pool.intern(formula) for name, formula in formulas.items()}
        self._count(list(roots.values()))
        return {name: _root(self._simplified(root), self._know) for name, root in roots.items()}

    def _count(self, roots: list[Expr]) -> None:
        """How many parts, and how many formulas, use each part."""
        self._uses.update(map(id, roots))
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            node = stack.pop()
            if id(node) not in seen:
                seen.add(id(node))
                self._uses.update(map(id, node.children))
                stack.extend(node.children)
        self._left += _PATIENCE * len(seen)

    def _is_shared(self, node: Expr) -> bool:
        return self._uses[id(node)] > 1

    def _simplified(self, root: Expr) -> Expr:
        """The one form of an interned expression: its parts first, then it, then what was made of it."""
        done = self._done
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
                continue
            is_sum = sums.is_sum(node)
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
        return self._checked(node, sums.normal_sum(parts, total, self._know)) or node

    def _rewritten(self, node: Expr, children: list[Expr]) -> Expr:
        """One step: with simplified parts, or else by the first rule that applies; itself if none does."""
        rebuilt = self._know.pool.intern(with_children(node, children))
        if rebuilt is not node or self._left <= 0:
            return rebuilt
        for rule in self._rules:
            made = rule(node, self._know)
            new = None if made is None else self._checked(node, made)
            if new is not None:
                return new
        return node

    def _checked(self, node: Expr, made: Expr) -> Expr | None:
        """What a rule made, if it is something else and as good."""
        new = self._know.pool.intern(made)
        if new is node or not self._know.alike(node, new):
            return None
        self._left -= 1
        return new


def _root(formula: Expr, know: Facts) -> Expr:
    """A formula as a whole may be a number where a part may not: `1` for `ones_like(loss)`."""
    number = Product.of(formula)
    if number.is_ones() and know.ndim(formula) == 0:
        return Product(number.number).render()
    return formula
