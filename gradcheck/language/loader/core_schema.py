"""Plain scalars by the YAML 1.2 core schema: `no` and `1:30` are text, `1e-3` a number, `0o17` fifteen.

Source: https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import math
import re
from typing import TypeAlias

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
#: Beyond any dtype's range, and below the length at which Python refuses to convert.
_LONGEST = 1000
_LONG = 19


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. Raises OverflowError for a number that no float64 can hold."""
    if text[:1] not in _NUMBER_STARTS:
        return _WORDS.get(text, text)
    if len(text) < _LONG and text.isdigit() and text.isascii():
        return int(text)
    return _number(text)


def _number(text: str) -> Scalar:
    if len(text) > _LONGEST and (_INTEGER.fullmatch(text) or _OTHER_BASE.fullmatch(text)):
        raise OverflowError(f"the number {_short(text)} has {len(text)} digits")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise OverflowError(f"the number {_short(text)} is too large for a float64")
        return value
    if _OTHER_BASE.fullmatch(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    return _WORDS.get(text, text)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}…"
