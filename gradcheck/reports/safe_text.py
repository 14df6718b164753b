"""Safe text: it cannot move the cursor, hide, or be markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import category

from gradcheck.errors import Place

#: Letters and marks without a shape, with variation selectors; Python does not print the other invisible ones.
_INVISIBLE = frozenset(
    (
        *"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159",
        *map(chr, (*range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))),
    )
)
#: The selector of coloured emoji, where it follows none.
_SELECTOR = re.compile(
    "(?<![\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001ffff])\ufe0f+"
)


def plain(text: str) -> str:
    """Return the text on one line, control and invisible characters escaped."""
    if text.isascii() and text.isprintable():
        return text
    text = _SELECTOR.sub(lambda found: "\\ufe0f" * len(found[0]), text)
    return "".join(letter if _is_visible(letter) else _escape(letter) for letter in text)


def _is_visible(letter: str) -> bool:
    """Return whether a character has a shape, or is a blank."""
    return letter not in _INVISIBLE if letter.isprintable() else category(letter) == "Zs"


def plain_lines(text: str) -> list[str]:
    """Return the lines of a text that has its own, such as a traceback."""
    return [plain(line) for line in text.expandtabs(4).splitlines()]


#: Commands in the log of a CI service: `::error::` at the beginning of a line, `##[error]` or
#: `##vso[task…]` anywhere. As in `src/Runner.Common/ActionCommand.cs` of github.com/actions/runner.
_COMMAND = re.compile(r"^(\s*):(?=:[A-Za-z].*::)|#(?=#\w*\[)", re.MULTILINE)


def for_log(text: str) -> str:
    """Return the text without commands to the service that reads the log."""
    return _COMMAND.sub(lambda found: f"{found[1]}\\x3a" if found[1] is not None else "\\x23", text)


def truncate(text: str, room: int) -> str:
    """Return the text, cut to `room` characters."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def shared_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many parts at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def truncate_alike(one: str, other: str, room: int) -> tuple[str, str]:
    """Return two texts cut to `room` characters, so that they still differ."""
    skipped = max(shared_length(one, other) - room // 2, 0) if max(len(one), len(other)) > room else 0
    cut = (text if not skipped else f"…{text[skipped:]}" for text in (one, other))
    first, second = (truncate(text, room) for text in cut)
    return first, second


def short_line(text: str, room: int) -> str:
    """Return the text on one line, cut to `room` characters."""
    return truncate(plain(text), room)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def format_place(place: Place) -> str:
    """Return `file:line:column`, as far as it is known."""
    known = [str(number) for number in (place.line, place.column) if number]
    return plain(":".join([place.file, *known]))


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1 gradient`, `2 gradients`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def join_words(words: Sequence[str], most: int | None) -> str:
    """Return `pow, sin and 3 more (-v)`; None is all."""
    more = len(words) - len(words[:most])
    return ", ".join(words[:most]) + (f" and {more} more (-v)" if more else "")


def ordinal(index: int) -> str:
    """Return `first` for 0."""
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    return words[index] if index < len(words) else f"{index + 1}th"


def wrap(text: str, width: int, indent: str, hanging: str | None = None) -> list[str]:
    """Return the text in lines of at most `width` columns, if words allow it."""
    from rich.cells import cell_len  # here, since not every command loads rich

    hanging = indent if hanging is None else hanging
    lines, line, empty = [], indent, True
    for word in text.split(" "):
        if not empty and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, empty = hanging, True
        line += word if empty else " " + word
        empty = False
    return [*lines, line]
