"""Lists of nothing but numbers, read at once: to YAML's parser each number is an event, which takes ten times as long.

In the text that the parser is given, quotation marks stand in place of the outer brackets of such a list, so that it
comes as one text, and everything else where it was. What looks like a list and is none, being part of a comment or of a
text, does not come so: then the file's own text is parsed.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import Any, NamedTuple

from gradcheck.language.loader.yaml_document import Mark, PositionNode, PositionTree

#: How a list begins, behind the key that it is the value of.
_BEGINNING = ": ["
_FIRST = frozenset("[-0123456789 \n")
#: A list of numbers that JSON writes as YAML does; what may be no float64, and lists of none, are left to the parser.
_NUMBERS = re.compile(r"[-+.,eE0-9 \n\[\]]*")
_LARGE = re.compile(r"[eE][-+]?[0-9]{3}")
_LONGEST = 100
_EMPTY = re.compile(r"\[[ \n]*\]")
_PIECES = re.compile(r"[\[\],]|[^\[\], \n]+")
_decode = JSONDecoder().raw_decode


class NumberList(NamedTuple):
    """A list, how many values it is of, itself and the lists in it included, how deep they are, and its own text."""

    data: list[Any]
    values: int
    depth: int
    text: str


def find_lists(text: str) -> dict[int, NumberList]:
    """The lists of numbers that there seem to be, by where they begin."""
    found: dict[int, NumberList] = {}
    at = text.find(_BEGINNING)
    while at >= 0:
        start = end = at + len(_BEGINNING) - 1
        try:
            data, end = _decode(text, start) if text[start + 1 : start + 2] in _FIRST else (None, start + 1)
        except (ValueError, RecursionError):
            end += 1
        else:
            if data and _NUMBERS.fullmatch(text, start, end) and _is_plain(own := text[start:end]):
                found[start] = NumberList(data, 1 + own.count(",") + own.count("["), _depth(data), own)
        at = text.find(_BEGINNING, end)
    return found


def _is_plain(text: str) -> bool:
    """Whether every number is surely a float64, and every list holds something."""
    if _EMPTY.search(text) or max(map(len, text.split(","))) > _LONGEST:
        return False
    return not ("e" in text or "E" in text) or not _LARGE.search(text)


def _depth(data: Any) -> int:
    """How deep lists stand in the first of each; where others are deeper, they are no tensor."""
    depth = 0
    while type(data) is list:
        data, depth = data[0], depth + 1
    return depth


def quoted(text: str, lists: dict[int, NumberList]) -> str:
    """The text with each of these lists between quotation marks in place of its brackets."""
    pieces, done = [], 0
    for start, one in lists.items():
        pieces += [text[done:start], '"', one.text[1:-1], '"']
        done = start + len(one.text)
    return "".join([*pieces, text[done:]])


class ListMark:
    """Where something begins, from 0."""

    __slots__ = ("column", "index", "line")

    def __init__(self, index: int, line: int, column: int) -> None:
        self.index, self.line, self.column = index, line, column


class NumberPositions(PositionTree):
    """The positions in a list of numbers, which are found when they are asked for: where something is wrong."""

    __slots__ = ("_text",)

    def __init__(self, mark: Mark, text: str) -> None:
        PositionTree.__init__(self, mark, None, None)
        self._text = text

    def child(self, part: str | int) -> PositionNode | None:
        if self.children is None:
            self.children = _positions(self._text, self.mark)
        return PositionTree.child(self, part)


def _positions(text: str, mark: Mark) -> list[PositionNode]:
    """Those of the items of a list that begins at a mark."""
    top = PositionTree(mark, None, [])
    stack = [top]
    line, line_start, done = mark.line, mark.index - mark.column, 0
    for piece in _PIECES.finditer(text):
        what, start = piece[0], piece.start()
        if breaks := text.count("\n", done, start):
            line, line_start = line + breaks, mark.index + text.rindex("\n", done, start) + 1
        done = start
        here = ListMark(mark.index + start, line, mark.index + start - line_start)
        if what == "[" and start:
            stack[-1].children.append(below := PositionTree(here, None, []))
            stack.append(below)
        elif what == "]":
            stack.pop()
        elif what not in "[,":
            stack[-1].children.append(here)
    children: list[PositionNode] = top.children
    return children
