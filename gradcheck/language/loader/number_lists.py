"""Lists of numbers, read in one piece.

YAML's parser takes ten times as long, since it makes an event of each number. Here quotation marks replace the outer
brackets of such a list, so that the parser reads it as one text and all positions stay. If a comment or a text only
looks like a list, no such text comes, and the unchanged file is parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json import JSONDecoder
from typing import Any, NamedTuple

from gradcheck.language.loader.yaml_document import Mark, PositionNode, PositionTree

#: The beginning of a list that is the value of a key.
_BEGINNING = ": ["
_FIRST = frozenset("[-0123456789 \n")
#: Numbers that JSON and YAML write alike; numbers beyond float64 and empty lists are left to the parser.
_NUMBERS = re.compile(r"[-+.,eE0-9 \n\[\]]*")
_LARGE = re.compile(r"[eE][-+]?[0-9]{3}")
_LONGEST = 100
_EMPTY = re.compile(r"\[[ \n]*\]")
_PIECES = re.compile(r"[\[\],]|[^\[\], \n]+")
_decode = JSONDecoder().raw_decode


class NumberList(NamedTuple):
    """A list, its number of values (inner lists included), its depth and text."""

    data: list[Any]
    values: int
    depth: int
    text: str


def find_lists(text: str) -> dict[int, NumberList]:
    """Return the apparent lists of numbers by position."""
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
    """Return whether every number fits float64, and no list is empty."""
    if _EMPTY.search(text) or max(map(len, text.split(","))) > _LONGEST:
        return False
    return not ("e" in text or "E" in text) or not _LARGE.search(text)


def _depth(data: Any) -> int:
    """Return the depth along first items; deeper items make it no tensor."""
    depth = 0
    while type(data) is list:
        data, depth = data[0], depth + 1
    return depth


def quoted(text: str, lists: dict[int, NumberList]) -> str:
    """Return the text with quotation marks for the lists' outer brackets."""
    pieces, done = [], 0
    for start, one in lists.items():
        pieces += [text[done:start], '"', one.text[1:-1], '"']
        done = start + len(one.text)
    return "".join([*pieces, text[done:]])


@dataclass(slots=True, eq=False)
class ListMark:
    """A position, counted from 0."""

    index: int
    line: int
    column: int


class NumberPositions(PositionTree):
    """Positions in a list of numbers, computed when an error needs them."""

    __slots__ = ("_text",)

    def __init__(self, mark: Mark, text: str) -> None:
        PositionTree.__init__(self, mark, None, None)
        self._text = text

    def child(self, part: str | int) -> PositionNode | None:
        if self.children is None:
            self.children = _positions(self._text, self.mark)
        return PositionTree.child(self, part)


def _positions(text: str, mark: Mark) -> list[PositionNode]:
    """Return the positions of the items of a list that begins at a mark."""
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
