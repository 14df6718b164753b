"""Equal parts of expressions as one object, so that rules compare by identity and no part is rewritten twice."""

from __future__ import annotations

from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import with_children


class Pool:
    """Expressions in which equal parts are identical. Linear in the number of different parts."""

    def __init__(self) -> None:
        self._by_content: dict[object, Expr] = {}
        self._known: dict[int, Expr] = {}
        self._kept: list[Expr] = []  # so that an id stays its own

    def intern(self, root: Expr) -> Expr:
        """The one expression that is equal to this."""
        known = self._known
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in known:
                stack.pop()
                continue
            missing = [child for child in node.children if id(child) not in known]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            children = [known[id(child)] for child in node.children]
            key = (type(node), node.label, *map(id, children))
            if key not in self._by_content:
                self._by_content[key] = made = with_children(node, children) if children else node
                known[id(made)] = made
                self._kept.append(made)
            known[id(node)] = self._by_content[key]
            self._kept.append(node)
        return known[id(root)]
