"""Mistakes in a text that is no YAML, found line by line.

A parser reports where it gave up. The mistake is often a line above, such as an open bracket or `=` for a colon. A
further kind of mistake is a function in `LINE_CHECKS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gradcheck.errors import Hint, Place
from gradcheck.language.expr.notation_mistakes import find_notation_mistake
from gradcheck.language.loader.yaml_document import shorten


class YamlMistake(NamedTuple):
    """A mistake at a line and a column, both from 0, as in its hint's place."""

    line: int
    column: int
    message: str
    hint: str


class YamlLine(NamedTuple):
    """A line that is neither empty nor a comment, and the one above it."""

    number: int
    text: str
    above: YamlLine | None

    @property
    def indent(self) -> int:
        """The number of spaces that indent it."""
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def key(self) -> str:
        """The key that it begins with, or ""."""
        found = _ENTRY.match(self.text)
        return found["key"] if found else ""

    @property
    def value(self) -> tuple[int, str]:
        """The column and the text of the value after its key."""
        found = _ENTRY.match(self.text)
        return (found.start("value"), found["value"] or "") if found else (self.indent, "")

    @property
    def item(self) -> tuple[int, str]:
        """The column and the text of the line as a list item."""
        text = re.sub(r"^\s*(?:- +)*", "", self.text)
        return len(self.text) - len(text), text


_ENTRY = re.compile(
    r"\s*(?:- +)*(?P<key>[^\s:#'\"\[{][^:#]*?|'[^']*'|\"[^\"]*\")\s*:(?:[ \t]+(?P<value>.*)|(?P<none>))$"
)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BLOCK = re.compile(r"[|>][-+0-9]*\s*$")
#: All checks but that of brackets look at so many lines above the parser's position.
_NEAR = 500
#: The search for an open bracket reads each character so many times at most, on average: brackets can be nested.
_MOST_PASSES = 4
_PAIRS = {"{": "}", "[": "]"}
_STARTS = ("@", "`", "%", "*", "&")


def find_yaml_mistakes(text: str, until: int) -> list[YamlMistake]:
    """Return the last mistakes above line `until`, which stopped a parser."""
    found: list[YamlMistake] = []
    goes_on = False
    for line in _lines(text, until, max(0, until - _NEAR)):
        slip = next((slip for look in LINE_CHECKS if (slip := look(line))), None)
        if slip and not (goes_on and found[-1].message == slip.message):
            found = [*found, slip] if goes_on else [slip]
        goes_on = slip is not None
    opened = _unclosed_bracket(text, until)
    return [opened] if opened and (not found or opened.line >= found[-1].line - 1) else found


def find_mistake_in_text(text: str) -> YamlMistake | None:
    """Return the mistake in a text that stands for a mapping: `d:3`, `L = x`."""
    line = YamlLine(0, text, None)
    return _no_space(line) or _equals(line)


def _lines(text: str, until: int, start: int = 0) -> Iterator[YamlLine]:
    """Yield the lines of a range, block scalars left out."""
    above: YamlLine | None = None
    block = -1  # the indentation of a block scalar's key
    for number, line in enumerate(text.split("\n")[start : until + 1], start):
        indent = line[: len(line) - len(line.lstrip())]
        if not line.strip() or (line.lstrip().startswith("#") and "\t" not in indent):
            continue
        one = YamlLine(number, _COMMENT.sub("", line) or line, above)
        if block >= 0 and one.indent > block:
            continue
        block = one.indent if _BLOCK.match(one.value[1]) else -1
        yield one
        above = one


def _tab(line: YamlLine) -> YamlMistake | None:
    found = re.match(r"[^\S\t]*\t", line.text)
    if found is None:
        return None
    hint = Hint("indent with spaces", "\t", "  ")
    return YamlMistake(line.number, found.end() - 1, "a tab indents this line", hint)


def _parting(line: YamlLine) -> YamlMistake | None:
    found = re.fullmatch(r"(--|-{4,}|={3,}|\*{3,}|_{3,})\s*", line.text)
    if found is None:
        return None
    return YamlMistake(line.number, 0, f"'{found[1]}' parts no documents", Hint("write ---", found[1], "---"))


def _equals(line: YamlLine) -> YamlMistake | None:
    found = re.match(r"\s*(?:- +)*(\w+)(\s*)=(?!=)\s*(\S.*)?", line.text)
    if found is None:
        return None
    hint = Hint(f"a name is followed by a colon: {found[1]}: {_short(found[3] or '')}", found[2] + "=", ":")
    return YamlMistake(line.number, found.end(1), f"'=' behind the name '{found[1]}'", hint)


def _no_space(line: YamlLine) -> YamlMistake | None:
    found = re.match(r"\s*(?:- +)*(\w+):(?=[^\s:/])(\S.*)", line.text)
    if found is None:
        return None
    hint = Hint(f"a space after the colon: {found[1]}: {_short(found[2])}", ":", ": ")
    return YamlMistake(line.number, found.end(1), f"'{found[1]}' and its value stand together", hint)


def _no_name(line: YamlLine) -> YamlMistake | None:
    """Find a call that stands as a statement, such as `loss.backward()`."""
    above, found = line.above, re.match(r"\s*+((\w++)[\w.]*+\(.*\))\s*$", line.text)
    if found is None or above is None or not above.key or line.indent != above.indent:
        return None
    hint = "a line is a name, a colon and an expression: y: …"
    if found[1].endswith(".backward()"):
        hint = f"the backward pass is a key of the case: backward: {found[2]}"
    return YamlMistake(line.number, found.start(1), f"{_short(found[1])} has no name", hint)


def _no_colon(line: YamlLine) -> YamlMistake | None:
    found = re.match(r"\s*(\w+)(?:[ \t]+(\S.*))?$", line.text)
    above = line.above
    if found is None or (above is None and found[2]) or (above is not None and not above.key and not found[2]):
        return None
    if above is not None and line.indent > above.indent and above.value[1]:
        return None  # the text above goes on
    shown = f"{found[1]}: {_short(found[2])}" if found[2] else f"{found[1]}:"
    hint = Hint(f"a name is followed by a colon: {shown}", found[1], f"{found[1]}:")
    return YamlMistake(line.number, found.start(1), f"'{found[1]}' lacks its colon", hint)


def _start(line: YamlLine) -> YamlMistake | None:
    column, value = line.value
    if value[:1] == "|" and not _BLOCK.match(value):
        bars = find_notation_mistake(value)
        return YamlMistake(line.number, column + bars.at, bars.message, bars.hint) if bars else None
    if value.startswith(_STARTS):
        hint = _quote_hint(f"text that begins with {value[0]} needs quotes", value)
        return YamlMistake(line.number, column, f"YAML reads '{value[0]}' at the beginning as its own", hint)
    return None


def _second_colon(line: YamlLine) -> YamlMistake | None:
    column, value = line.value
    found = re.search(r":\s+", value)
    if found is None or value[:1] in ("'", '"', "{", "["):
        return None
    if "?" in value[: found.start()]:
        hint = "a conditional is written where(condition, x, y)"
        return YamlMistake(line.number, column + value.index("?"), "? is not part of the language", hint)
    if keyword := re.search(r"[(,]\s*([a-z]\w*)$", value[: found.start()]):
        rest = value[found.end() :].strip().partition(")")[0].partition(",")[0]
        hint = Hint(f"write {keyword[1]}={rest}", found[0], "=")
        return YamlMistake(line.number, column + found.start(), "a keyword has '=', not ':'", hint)
    hint = _quote_hint("text that holds ': ' needs quotes", value, Place("", line.number, column))
    return YamlMistake(line.number, column + found.start(), "a second colon in one line", hint)


def _text_after_list(line: YamlLine) -> YamlMistake | None:
    """Find a malformed list, such as `[1, 2].T` or `[1,, 2]`."""
    column, value = line.value
    if value[:1] not in _PAIRS:
        return None
    if commas := re.search(r",\s*,", value):
        return YamlMistake(line.number, column + commas.end() - 1, "nothing stands between two commas", "take one away")
    opened = 0
    for at, mark in enumerate(value):
        opened += (mark in "[{") - (mark in "]}")
        if not opened:
            rest = value[at + 1 :].strip()
            if not rest or rest[0] in "#,":
                return None
            if not rest.strip("]})"):
                hint = Hint("take it away", value[at + 1 :].rstrip(), "")
                return YamlMistake(line.number, column + at + 1, f"'{rest[0]}' closes nothing", hint)
            if rest.startswith(("//", "%", "--", ";")):
                at += 1 + len(value[at + 1 :]) - len(value[at + 1 :].lstrip())
                message = f"{rest[:2].strip()} begins no comment"
                return YamlMistake(line.number, column + at, message, "a comment begins with #")
            message = f"an expression that begins with {value[0]} needs quotes"
            hint = _quote_hint(message, value, Place("", line.number, column))
            return YamlMistake(line.number, column + at + 1, f"text stands behind the closing {mark}", hint)
    return None


def _wrong_indentation(line: YamlLine) -> YamlMistake | None:
    """Find a key that is indented too deep, or between the open levels."""
    above = line.above
    if not line.key or above is None or line.indent == above.indent:
        return None
    if line.indent > above.indent and above.key and above.value[1]:
        message = f"'{line.key}' is indented deeper than '{above.key}' above, which has a value already"
        hint = Hint("keys of one mapping have the same indentation", " " * line.indent, " " * above.indent)
        return YamlMistake(line.number, line.indent, message, hint)
    levels: list[int] = []  # of the mappings that are open
    one: YamlLine | None = above
    while one is not None:
        if not levels or one.indent < levels[-1]:
            levels.append(one.indent)
        one = one.above
    if line.indent < above.indent and line.indent not in levels:
        known = " or ".join(map(str, sorted(levels)))
        message = f"'{line.key}' is indented by {line.indent}, the lines above by {known}"
        return YamlMistake(line.number, line.indent, message, "keys of one mapping have the same indentation")
    return None


LINE_CHECKS: tuple[Callable[[YamlLine], YamlMistake | None], ...] = (
    _tab,
    _parting,
    _no_space,
    _equals,
    _start,
    _second_colon,
    _text_after_list,
    _no_name,
    _no_colon,
    _wrong_indentation,
)


def _unclosed_bracket(text: str, until: int) -> YamlMistake | None:
    """Find a bracket or quotation mark that is open at the next key."""
    lines, left = text.split("\n"), _MOST_PASSES * len(text)
    for line in _lines(text, until):
        column, value = line.value if line.key else line.item
        if value[:1] in ("'", '"'):
            opened, rest = [(line.number, column, value[0])], value[1:]
        elif value[:1] in _PAIRS:
            opened, rest = [], value
        else:
            continue
        number = line.number
        while True:
            left -= 1 + len(rest)
            _follow_brackets(rest, number, len(lines[number]) - len(rest), opened)
            number += 1
            if not opened or number >= len(lines):
                break
            if left < 0:
                return None
            rest = lines[number]
            one = YamlLine(number, rest, None)
            if rest.strip() and one.indent <= line.indent and one.key and line.key:
                break
        if opened:
            where, at, mark = opened[-1]
            what = "the quotation mark" if mark in "'\"" else f"'{mark}'"
            return YamlMistake(where, at, f"{what} is never closed", f"close it with {_PAIRS.get(mark, mark)}")
    return None


def _follow_brackets(text: str, line: int, column: int, opened: list[tuple[int, int, str]]) -> None:
    """Update the open brackets and quotation marks, and places, by a text."""
    for at, mark in enumerate(text):
        if opened and opened[-1][2] in "'\"":
            if mark == opened[-1][2]:
                opened.pop()
        elif mark == "#" and (not at or text[at - 1].isspace()):
            break
        elif mark in "{['\"" and (mark in _PAIRS or not at or not text[at - 1].isalnum()):
            opened.append((line, column + at, mark))
        elif mark in "}]" and opened and _PAIRS[opened[-1][2]] == mark:
            opened.pop()


def _short(text: str) -> str:
    return shorten(text.strip(), 24)


def _quote_hint(message: str, value: str, place: Place | None = None) -> Hint:
    text = value.rstrip()
    quoted = "'" + text.replace("'", "''") + "'"
    return Hint(message, text, quoted, place)
