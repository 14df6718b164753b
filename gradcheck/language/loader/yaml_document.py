"""A YAML document: plain data, positions of its values, and error texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from gradcheck.errors import Place


class Mark(Protocol):
    """A position, counted from 0; PyYAML's own record."""

    index: int
    line: int
    column: int


@dataclass(slots=True, eq=False)
class PositionTree:
    """The positions below a mapping, or below a list (`keys` is None)."""

    mark: Mark
    keys: dict[str, Mark] | None
    children: Any

    def child(self, part: str | int) -> PositionNode | None:
        """Return the position below a key or an index, or None."""
        if self.keys is not None:
            return cast("PositionNode | None", self.children.get(part))
        return self.children[part] if isinstance(part, int) and part < len(self.children) else None


PositionNode: TypeAlias = "Mark | PositionTree"


#: The end of an entry in YAML's flow style.
_FLOW_END = re.compile(r"\s*[,}\]]")


class Broken:
    """Marker for a value that could not be read, and has its error already."""

    def __repr__(self) -> str:
        return "BROKEN"


BROKEN = Broken()

#: The path to a value: keys of mappings and indices of lists.
Path: TypeAlias = Sequence["str | int"]


@dataclass(slots=True, eq=False)
class Document:
    """One YAML document: its plain `data`, and the place of everything in it.

    Mappings are dicts with text keys, in the file's order; lists are lists; scalars are str, int, float, bool or None.
    """

    file: str
    text: str
    first: int  # the line of the file on which `text` begins, from 1
    data: Any
    root: PositionNode
    broken: bool = False  # `data` may hold BROKEN
    incomplete: bool = False  # `data` lacks keys

    def place(self, path: Path = ()) -> Place:
        """Return the place of the value at `path`, or of the nearest one above."""
        return self._at(self._mark(path))

    def key_place(self, path: Path) -> Place:
        """Return the place of the key that ends `path`, or of the list item."""
        parent = self._walk(path[:-1])
        keys = parent.keys if isinstance(parent, PositionTree) else None
        return self._at(keys[path[-1]]) if keys and path[-1] in keys else self.place(path)

    def key_places(self, path: Path) -> dict[str, Place]:
        """Return the place of each key of the mapping at `path`."""
        spot = self._walk(path)
        return (
            {key: self._at(mark) for key, mark in (spot.keys or {}).items()} if isinstance(spot, PositionTree) else {}
        )

    def text_place(self, path: Path) -> Place:
        """Return the place of the text at `path`, after a quotation mark."""
        mark = self._mark(path)
        return Place(self.file, mark.line + self.first, mark.column + 1 + (self.text[mark.index] in "'\""))

    def locate(self, path: Path, text: str, offset: int) -> Place:
        """Return the place of character `offset` of `text`, the value at `path`."""
        mark, start = self._mark(path), self.text_place(path)  # lines are counted from here, not from the top
        begin = mark.index + (start.column - mark.column - 1)
        if self.text.startswith(text, begin):
            return Place(start.file, start.line, start.column + offset)
        if self.text[mark.index] in "|>":
            begin = self.text.find("\n", begin) + 1
        ahead = len("".join(text[:offset].split()))  # folding changes nothing but blanks
        while begin < len(self.text) and (ahead or self.text[begin].isspace()):
            ahead -= not self.text[begin].isspace()
            begin += 1
        line_start = self.text.rfind("\n", 0, begin) + 1
        line = mark.line + self.text.count("\n", mark.index, begin)
        return Place(self.file, self.first + line, begin - line_start + 1)

    def lines_of(self, path: Path, text: str) -> list[str]:
        """Return the lines of the text at `path`, the first from its beginning."""
        left, lines, begin = len("".join(text.split())), [], self._mark(path).index
        while left > 0 and begin <= len(self.text):
            end = self.text.find("\n", begin)
            line = self.text[begin:] if end < 0 else self.text[begin:end]
            lines.append(line)
            left -= len("".join(line.split()))
            begin += len(line) + 1
        return lines or [text]

    def is_verbatim(self, path: Path, text: str) -> bool:
        """Return whether the value stands in the file as it is read, on one line."""
        mark = self._mark(path)
        return self.text.startswith(text, mark.index + (self.text[mark.index] in "'\""))

    def is_cut(self, path: Path, text: str) -> bool:
        """Return whether a comma of YAML's flow style ends the value at `path`."""
        mark = self._mark(path)
        return _FLOW_END.match(self.text, mark.index + len(text)) is not None and self.is_verbatim(path, text)

    def _at(self, mark: Mark) -> Place:
        return Place(self.file, mark.line + self.first, mark.column + 1)

    def _mark(self, path: Path) -> Mark:
        spot = self._walk(path)
        return spot.mark if isinstance(spot, PositionTree) else spot

    def _walk(self, path: Path) -> PositionNode:
        spot = self.root
        for part in path:
            below = spot.child(part) if isinstance(spot, PositionTree) else None
            if below is None:
                break
            spot = below
        return spot


def path_text(path: Iterable[str | int]) -> str:
    """Return a path as a person writes it, quoted: `steps[0].expected.x`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return f"'{shorten(text, 60)}'"


def describe(value: Any) -> str:
    """Return a short description of a value."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {shorten(str(value), 24)}"
    if isinstance(value, str):
        return f"the text '{shorten(value, 40)}'"
    kind = "mapping" if isinstance(value, dict) else "list"
    return f"a {kind}" if value else f"an empty {kind}"


def shorten(text: str, length: int) -> str:
    """Return the text, cut to `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


@dataclass(frozen=True, slots=True)
class Limits:
    """File limits; `numbers` counts written values, `elements` a tensor's."""

    bytes: int = 10_000_000
    depth: int = 100
    numbers: int = 100_000
    elements: int = 100_000_000
    #: Errors shown for one file; the last one gives the number of the others.
    errors: int = 100


DEFAULT_LIMITS = Limits()
