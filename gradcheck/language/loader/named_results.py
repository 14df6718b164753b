"""`m.values` of a case's own `m`: which place that is among the parts of what `m` was made by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradcheck.errors import InvalidCase
from gradcheck.language.expr.nodes import Attribute, Expr, Name
from gradcheck.language.expr.named_results import NoPart, part
from gradcheck.language.expr.traverse import fold, with_children
from gradcheck.language.loader.parsed_expression import read_text
from gradcheck.language.loader.name_scope import Scope


class Parts:
    """Finds the parts of the entries of one case."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def put_into(
        self, expr: Expr, named: Sequence[Attribute], refuse: Callable[[Attribute, NoPart], None]
    ) -> Expr | None:
        """The expression with each of these parts by its place; None where one is none, which is refused."""
        known: dict[int, tuple[Expr, Expr]] = {}
        for node in named:
            found = part(node.value, self._made(node.value), node.name, node.at)
            if isinstance(found, NoPart):
                refuse(node, found)
                return None
            known[id(node)] = node, found
        return fold(expr, with_children, known)

    def _made(self, expr: Expr) -> Expr:
        """What an entry of `graph` or `let` says, by way of other names, as far as it can be read."""
        seen = set()
        while isinstance(expr, Name) and expr.name not in seen:
            seen.add(expr.name)
            section = self._scope.defined.get(expr.name, "")
            entries = self._scope.document.data[section] if section in ("graph", "let") else {}
            try:
                expr = read_text(str(entries[expr.name])).expr if expr.name in entries else expr
            except InvalidCase:
                break
        return expr
