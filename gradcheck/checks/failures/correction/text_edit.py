"""The smallest edit of a formula's text: `W2` for `W1`, `(1 - H ** 2)`.

The rest stays as its author wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gradcheck.autograd.op import lookup
from gradcheck.errors import InvalidCase
from gradcheck.language.case import Edit
from gradcheck.language.expr.nodes import Call, Expr, Slice
from gradcheck.language.expr.parser import parse, parse_with_spans
from gradcheck.language.expr.printer import INFIX, PREFIX, Spelling, commas, render, spell, spell_entry, to_text

Span = tuple[int, int]

#: The longest part in brackets that is shown whole for one operand.
_SHORT = 32
_KEYWORD = re.compile(r"\w+\s*=\s*\Z")
_CALLED = re.compile(r"[A-Za-z_]\w*(?=\s*\()")


def smallest_edit(text: str, right: Expr) -> Edit:
    """Return the smallest readable edit with which `text` means `right`."""
    whole = Edit(0, len(text), to_text(right))
    try:
        root, known = parse_with_spans(text)
    except InvalidCase:  # pragma: no cover (a formula has been read from its text)
        return whole
    place = _FormulaText(text, known)
    for edit in place.edits(root, right):
        if _has_result(text, edit, right):
            return edit
    return whole


def _has_result(text: str, edit: Edit, right: Expr) -> bool:
    try:
        return parse(edit.apply_to(text)) == right
    except InvalidCase:
        return False


class _FormulaText:
    def __init__(self, text: str, known: dict[int, Span]) -> None:
        self.text, self.known = text, known

    def edits(self, root: Expr, right: Expr) -> Iterator[Edit]:
        """Yield possible edits, the most readable first."""
        above, old, new = self._deepest_difference(root, right)
        span, instead = self.known[id(old)], self._written(old, new)
        if isinstance(old, Call) and isinstance(new, Call) and old.label[1:] == new.label[1:]:
            yield from self._renamed(old, new)
        if not old.children and _is_infix(new):
            yield from self._edit_brackets(above)
        grouped = self._bracketed_span(span)
        if grouped is not None:
            if not new.children or instead.startswith("("):  # `g` for `(1 - g)`, `(1 - g) ** 2`
                yield Edit(*grouped, instead)
            yield Edit(*grouped, f"({instead})")
        keyword = _KEYWORD.search(self.text, 0, span[0])
        if keyword is not None:
            yield Edit(keyword.start(), span[1], keyword.group() + instead)
        yield Edit(*span, instead)
        yield Edit(*span, f"({instead})")

    def _edit_brackets(self, above: Sequence[tuple[Expr, Expr]]) -> Iterator[Edit]:
        """Yield an edit of the short brackets around a name: `(1 - H ** 2)`."""
        for old, new in reversed(above):
            span = self._bracketed_span(self.known[id(old)])
            if span is not None:
                if span[1] - span[0] <= _SHORT:
                    yield Edit(*span, f"({self._written(old, new)})")
                return

    def _deepest_difference(self, root: Expr, right: Expr) -> tuple[list[tuple[Expr, Expr]], Expr, Expr]:
        """Return the deepest part that alone differs, and the parts above it."""
        above: list[tuple[Expr, Expr]] = []
        old, new = root, right
        while type(old) is type(new) and old.label == new.label:
            pairs = [(a, b) for a, b in zip(old.children, new.children, strict=True) if a != b]
            if len(pairs) != 1 or id(pairs[0][0]) not in self.known:
                break
            above.append((old, new))
            ((old, new),) = pairs
        return above, old, new

    def _renamed(self, old: Call, new: Call) -> Iterator[Edit]:
        if old.children != new.children or _is_infix(old) or _is_infix(new):
            return
        start, end = self.known[id(old)]
        inside = [self.known[id(child)] for child in old.children if id(child) in self.known]
        names = [m for m in _CALLED.finditer(self.text, start, end) if not any(a <= m.start() < b for a, b in inside)]
        if len(names) == 1:
            yield Edit(names[0].start(), names[0].end(), new.op)

    def _bracketed_span(self, span: Span) -> Span | None:
        """Return a span with the brackets around it, None for a call's."""
        start, end = span
        before, after = self.text[:start].rstrip(), self.text[end:]
        if not before.endswith("(") or not after.lstrip().startswith(")"):
            return None
        called = before[:-1].rstrip()[-1:]
        if called.isalnum() or called in ("_", ")", "]"):
            return None
        return len(before) - 1, end + after.index(")") + 1

    def _written(self, old: Expr, new: Expr) -> str:
        """Return the new part, with old parts as they are written."""
        texts = {node: self.text[slice(*self.known[id(node)])] for node in old.walk() if id(node) in self.known}
        return _written(new, texts, self.text)


def _is_infix(node: Expr) -> bool:
    return isinstance(node, Call) and (node.op in INFIX or node.op in PREFIX)


def _written(new: Expr, texts: dict[Expr, str], text: str) -> str:
    """Return a formula with known parts as written, others in that style."""

    def one(node: Expr) -> Spelling:
        binds, pieces = spell(node)
        if node in texts:
            return binds, [texts[node]]
        if isinstance(node, Slice):  # alone, in the place of another
            return binds, spell_entry(node)
        if isinstance(node, Call) and not _is_infix(node) and node.args and f".{node.op}(" in text:
            entry = lookup(node.op)
            if entry is not None and entry.method and isinstance(pieces[0], str) and pieces[0] == f"{node.op}(":
                inside = commas(node.args[1:])
                for name, value in node.kwargs:
                    inside += [", " if inside else "", f"{name}=", (value, 0)]
                return binds, [(node.args[0], 9), f".{node.op}(", *inside, ")"]
        return binds, pieces

    return render(new, one, "(", ")")
