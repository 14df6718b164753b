"""`m.values` of a case's own `m`: which place that is among the parts of what `m` was made by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradcheck.errors import InvalidCase
from gradcheck.language.expr.named_results import NoSuchResult, named_result
from gradcheck.language.expr.nodes import Attribute, Expr, Name
from gradcheck.language.expr.traverse import fold, with_children
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.parsed_expression import parse_cached


class NamedResultResolver:
    """Finds the parts of the entries of one case."""

    def __init__(self, scope: NameScope) -> None:
        self._scope = scope

    def resolve(
        self, expr: Expr, named: Sequence[Attribute], refuse: Callable[[Attribute, NoSuchResult], None]
    ) -> Expr | None:
        """The expression with each of these parts by its place; None where one is none, which is refused."""
        known: dict[int, tuple[Expr, Expr]] = {}
        for node in named:
            found = named_result(node.value, self._made(node.value), node.name, node.at)
            if isinstance(found, NoSuchResult):
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
                expr = parse_cached(str(entries[expr.name])).expr if expr.name in entries else expr
            except InvalidCase:
                break
        return expr
