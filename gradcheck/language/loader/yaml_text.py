"""The text of a YAML file: decoding, documents and plain scalars.

Scalars are those of the YAML 1.2 core schema: `no` and `1:30` are text, `1e-3` is a number, `0o17` is fifteen
(https://yaml.org/spec/1.2.2/#103-core-schema).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from typing import TypeAlias

from gradcheck.errors import InvalidCase, Place

#: The allowed ASCII characters, and every byte of a longer character.
_ALLOWED = bytes([9, 10, 13, *range(0x20, 0x7F), *range(0x80, 0x100)])
#: Characters that YAML forbids, or that break lines in YAML 1.1 alone: an editor would count other lines.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
#: The first bytes of other encodings; those of UTF-16 begin UTF-32 too.
_OTHER_ENCODINGS = (
    ("UTF-32", (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")),
    ("UTF-16", (b"\xff\xfe", b"\xfe\xff")),
)
#: A marker in the first column always divides documents.
_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\n]|\Z)", re.MULTILINE)
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))*+\Z")
_DIRECTIVES = re.compile(r"(?:(?:%[^\n]*|[ \t]*(?:#[^\n]*)?)(?:\n|\Z))*+\Z")


def decode(raw: bytes, file: str) -> str:
    """Return a file's text with unified line breaks; raise InvalidCase."""
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    for name, starts in _OTHER_ENCODINGS:
        if raw.startswith(starts):
            raise InvalidCase(f"the file is in {name}", place=Place(file, 1, 1), hint="save it as UTF-8")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _unify_breaks(raw[: error.start].decode("utf-8"))
        message = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise InvalidCase(message, place=_place(file, before), hint="save the file as UTF-8") from None
    text = _unify_breaks(text)
    if raw.translate(None, _ALLOWED) or not text.isascii():
        _refuse_controls(text, file)
    return text


def _unify_breaks(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _refuse_controls(text: str, file: str) -> None:
    found = _CONTROL.search(text)
    if found:
        what, hint = f"the character U+{ord(found[0]):04X}", "remove it, or write it as an escape in double quotes"
        if found[0] == "\0":
            what, hint = "a NUL byte", "is this a text file in UTF-8?"
        raise InvalidCase(f"{what} is not allowed", place=_place(file, text[: found.start()]), hint=hint)


def _place(file: str, before: str) -> Place:
    return Place(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def documents(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text and first line of each document that is not empty.

    They are divided before they are parsed, so that a syntax error affects one document.
    """
    start = None  # beginning of the next document's directives
    line, counted = 1, 0
    for begin, end in _pieces(text):
        dashed = text.startswith("---", begin)
        body = begin + 3 if dashed or text.startswith("...", begin) else begin
        if _COMMENTS.match(text, body, end):
            start = start if not dashed else None
            continue
        if not dashed and _DIRECTIVES.match(text, body, end):
            start = body
            continue
        first = start if start is not None and dashed else begin if dashed else body
        start = None
        line += text.count("\n", counted, first)
        counted = first
        yield text[first:end], line


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the parts; each part begins with its marker."""
    begin = 0
    if "---" in text or "..." in text:
        for marker in _MARKER.finditer(text):
            if marker.start() > begin:
                yield begin, marker.start()
            begin = marker.start()
    yield begin, len(text)


Scalar: TypeAlias = "str | int | float | bool | None"

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
#: Below the number of digits that Python converts.
_MAX_DIGITS = 1000
_LONG = 19
_LARGEST = int(sys.float_info.max)


def resolve(text: str) -> Scalar:
    """Return a plain scalar's value; raise OverflowError beyond float64."""
    if text[:1] not in _NUMBER_STARTS:
        return _WORDS.get(text, text)
    if len(text) < _LONG and text.isdigit() and text.isascii():
        return int(text)
    return _number(text)


def _number(text: str) -> Scalar:
    if "." not in text and _INTEGER.fullmatch(text):
        return _integer(text, text, 10)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise OverflowError(f"the number {_short(text)} is too large for a float64")
        return value
    if _OTHER_BASE.fullmatch(text):
        return _integer(text, text[2:], 8 if text[1] == "o" else 16)
    return _WORDS.get(text, text)


def _integer(text: str, digits: str, base: int) -> int:
    """Return the integer of a scalar's digits; raise OverflowError."""
    if len(text) > _MAX_DIGITS:
        raise OverflowError(f"the number {_short(text)} has {len(text):,} digits")
    value = int(digits, base)
    if abs(value) > _LARGEST:
        raise OverflowError(f"the number {_short(text)} is too large for a float64")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}…"
