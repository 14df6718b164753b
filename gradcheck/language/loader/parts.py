"""`m.values` of a case's own `m`: which place that is among the parts of what `m` was made by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradcheck.errors import InvalidCase
from gradcheck.language.expr.nodes import Attribute, Expr, Name
from gradcheck.language.expr.parts import NoPart, part
from gradcheck.language.expr.traverse import fold, with_children
from gradcheck.language.loader.scope import Scope


def parts_in(expr: Expr) -> Iterator[Attribute]:
    """The parts that are called by a name, of what has a name itself."""
    known = ("shape", "ndim", "dtype", "numel", "len")
    return (node for node in expr.walk() if isinstance(node, Attribute) and node.name not in known)


class Parts:
    """Finds the parts of the entries of one case. `read` makes an expression of a text, or raises InvalidCase."""

    def __init__(self, scope: Scope, read: Callable[[str], Expr]) -> None:
        self._scope, self._read = scope, read

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
                expr = self._read(str(entries[expr.name])) if expr.name in entries else expr
            except InvalidCase:
                break
        return expr
