"""A document against the model: every mistake, each at its exact place and in words that help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gradcheck.errors import InvalidCase
from gradcheck.language.loader import model
from gradcheck.language.loader.tree import BROKEN, Document
from gradcheck.language.suggest import nearest

_CASE_KEYS = tuple(model.Case.model_fields)
_STEP_KEYS = tuple(model.Step.model_fields)
_GENERALIZE_KEYS = tuple(model.Generalize.model_fields)
_validate = model.Case.__pydantic_validator__.validate_python


class Checked:
    """What passed: the `model`, whatever was wrong left out; and the names that may be missing because of that."""

    def __init__(self) -> None:
        self.model = model.Case()
        self.errors: list[InvalidCase] = []
        self.excused: set[str] = set()
        self.broken: set[str] = set()  # top-level keys that were left out


def check(document: Document) -> Checked:
    """Validate `document`, leaving out of it what is wrong so that the rest can be checked further."""
    checked = Checked()
    if not isinstance(document.data, dict):
        hint = "a case begins with keys such as 'inputs:' and 'graph:'"
        message = f"a case is a mapping, not {describe(document.data)}"
        checked.errors.append(InvalidCase(message, place=document.place(), hint=hint))
        return checked
    while True:
        try:
            checked.model = _validate(document.data)
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=True)
            checked.errors += [e for e in (_explain(document, detail) for detail in details) if e is not None]
            for detail in details:
                _leave_out(document.data, detail["loc"], checked)
        else:
            return checked


def _leave_out(data: dict[str, Any], loc: tuple[str | int, ...], checked: Checked) -> None:
    """Remove the innermost key of a mapping on the way to `loc`, and excuse the names it would have defined."""
    owner: dict[Any, Any] = data
    key = loc[0]
    here: Any = data
    for part in loc:
        if isinstance(here, dict) and part in here:
            owner, key = here, part
        elif not (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            break
        here = here[part]
    removed = owner.pop(key, None)
    checked.broken.add(str(loc[0]))
    checked.excused.add(str(key))
    if isinstance(removed, dict):
        checked.excused.update(removed)


def _explain(document: Document, detail: ErrorDetails) -> InvalidCase | None:
    """pydantic's error in our words, or None where the value's own error is already told."""
    loc, kind, found = detail["loc"], detail["type"], detail["input"]
    if found is BROKEN:
        return None
    if kind == "extra_forbidden":
        return unknown_key(document, loc)
    what, hint = _expectation(detail)
    name = dotted(loc)
    if found is None:
        return InvalidCase(
            f"{name} has no value, it takes {what}", place=document.key_place(loc), hint="leave it out or fill it in"
        )
    message = f"{name} takes {what}, not {describe(found)}"
    if kind == "literal_error" and isinstance(found, str):
        close = nearest(found, _words(detail))
        hint = f"did you mean '{close}'?" if close else ""
    return InvalidCase(message, place=document.place(loc), hint=hint)


def unknown_key(document: Document, loc: tuple[str | int, ...]) -> InvalidCase:
    """The error for the key that ends `loc`."""
    known = _STEP_KEYS if loc[0] == "steps" else _GENERALIZE_KEYS if loc[0] == "generalize" else _CASE_KEYS
    close = nearest(str(loc[-1]), known if len(loc) > 1 or loc[0] not in _CASE_KEYS else _CASE_KEYS)
    hint = f"did you mean '{close}'?" if close else f"the keys here are {', '.join(known)}"
    if not close and len(loc) > 1 and loc[-1] in _CASE_KEYS:
        hint = f"'{loc[-1]}' belongs to the case itself: check the indentation"
    return InvalidCase(f"unknown key '{loc[-1]}'", place=document.key_place(loc), hint=hint)


def _words(detail: ErrorDetails) -> list[str]:
    return [word.strip("'") for word in detail["ctx"]["expected"].replace(" or ", ", ").split(", ")]


def _expectation(detail: ErrorDetails) -> tuple[str, str]:
    """What is taken there, and what to try."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "literal_error":
        words = _words(detail)
        return f"{', '.join(words[:-1])} or {words[-1]}", ""
    if kind in ("greater_than_equal", "less_than_equal"):
        return (f"at least {context['ge']:,}" if "ge" in context else f"at most {context['le']:,}"), ""
    if kind == "too_short":
        return f"at least {_counted(context['min_length'])}", ""
    if kind == "too_long":
        return f"{_counted(context['max_length'])} at most", ""
    return _TYPES.get(kind, (detail["msg"], ""))


def _counted(number: int) -> str:
    return "one entry" if number == 1 else f"{number} entries"


_MAPPING = ("a mapping", "write 'name: value', each on a line of its own")
_TYPES = {
    "string_type": ("text", "put it in quotes"),
    "string_too_short": ("text that is not empty", ""),
    "int_type": ("an integer", ""),
    "int_from_float": ("an integer", ""),
    "bool_type": ("true or false", ""),
    "list_type": ("a list", "write [first, second], or each item on a line of its own after '- '"),
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
}


def dotted(loc: Iterable[str | int]) -> str:
    """The way to a value as a person writes it: `steps[0].expected.x`."""
    text = ""
    for part in loc:
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
    return text if len(text) <= length else f"{text[: length - 1]}…"
