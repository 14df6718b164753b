"""How errors name what stands in a file: a value, the way to it, a text that is too long to be shown whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def way(path: Iterable[str | int]) -> str:
    """The way to a value as a person writes it: `steps[0].expected.x`, in quotes."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return f"'{shorten(text, 60)}'"


def describe(value: Any) -> str:
    """What stands there, in a few words."""
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
    """The text, cut to so many characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
