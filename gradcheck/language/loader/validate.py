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


class Everything(set[str]):
    """A set of names that nothing is missing from."""

    def __contains__(self, name: object) -> bool:
        return True


class Checked:
    """What passed: the `model`, whatever was wrong left out; and the names that may be missing because of that."""

    def __init__(self) -> None:
        self.model = model.Case()
        self.errors: list[InvalidCase] = []
        self.excused: set[str] = set()  # names that an error may have kept from being defined
        self.broken: set[Any] = (
            set()
        )  # the top-level keys, and the beginnings of paths, below which something was wrong


def check(document: Document) -> Checked:
    """Validate `document`, leaving out of it what is wrong so that the rest can be checked further."""
    checked = Checked()
    if document.incomplete:
        checked.excused = Everything()
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
            checked.errors += _explain_all(document, details)
            for detail in details:
                _leave_out(document.data, detail["loc"], checked)
        else:
            return checked


def _leave_out(data: dict[str, Any], loc: tuple[str | int, ...], checked: Checked) -> None:
    """Remove the innermost key of a mapping on the way to `loc`, and excuse the names it would have defined."""
    checked.broken.update((str(loc[0]), loc[:2]))
    steps = data.get("steps")
    if loc[0] == "steps" and len(loc) == 2 and isinstance(steps, list) and isinstance(loc[1], int):
        steps[loc[1]] = {"forward": {}}  # the others keep their numbers
        return
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
    checked.excused.add(str(key))
    if isinstance(removed, dict):
        checked.excused.update(map(str, removed))
    elif key in _DEFINING:
        checked.excused = Everything()


_DEFINING = frozenset({"dims", "inputs", "constants", "graph", "let", "shapes"})


def _explain_all(document: Document, details: list[ErrorDetails]) -> list[InvalidCase]:
    """The errors in our words, less those whose value's own error is already told. The known keys are listed once."""
    details = [detail for detail in details if detail["input"] is not BROKEN]
    found = [_explain(document, detail, hints=i < _MOST_HINTS) for i, detail in enumerate(details)]
    listed = False
    for error in found:
        if error.hint.startswith(_KEYS_ARE):
            error.hint = "" if listed else error.hint
            listed = True
    return found


def _explain(document: Document, detail: ErrorDetails, *, hints: bool) -> InvalidCase:
    loc, found = detail["loc"], detail["input"]
    if detail["type"] == "extra_forbidden":
        return _unknown_key(document, loc, hints)
    what, hint = _expectation(detail)
    name = dotted(loc)
    if found is None:
        place = document.key_place(loc)
        return InvalidCase(f"{name} has no value, it takes {what}", place=place, hint="leave it out or fill it in")
    if detail["type"] == "literal_error" and isinstance(found, str):
        close = nearest(found, _words(detail))
        hint = f"did you mean '{close}'?" if close else ""
    if what == "a list" and isinstance(found, str):
        hint = f"write [{shorten(found, 40)}]"
    shown = f"{len(found)}" if detail["type"] in ("too_short", "too_long") else describe(found)
    return InvalidCase(f"{name} takes {what}, not {shown}", place=document.place(loc), hint=hint)


#: Of very many errors, only the first get a hint, which costs more than the error.
_MOST_HINTS = 50
_KEYS_ARE = "the keys here are "


def _unknown_key(document: Document, loc: tuple[str | int, ...], hints: bool) -> InvalidCase:
    """The error for the key that ends `loc`, which the model does not have there."""
    known = _CASE_KEYS if len(loc) == 1 else _STEP_KEYS if loc[0] == "steps" else _GENERALIZE_KEYS
    close = nearest(str(loc[-1]), known) if hints else ""
    hint = f"did you mean '{close}'?" if close else _KEYS_ARE + ", ".join(known)
    if not close and len(loc) > 1 and loc[-1] in _CASE_KEYS:
        hint = f"'{loc[-1]}' belongs to the case itself: check the indentation"
    return InvalidCase(f"unknown key '{shorten(str(loc[-1]), 40)}'", place=document.key_place(loc), hint=hint)


def _words(detail: ErrorDetails) -> list[str]:
    return [word.strip("'") for word in detail["ctx"]["expected"].replace(" or ", ", ").split(", ")]


def _expectation(detail: ErrorDetails) -> tuple[str, str]:
    """What is taken there, and what to try."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind.endswith("_type") and detail["loc"][-1] in _FORMS:
        return _FORMS[detail["loc"][-1]]
    if kind == "literal_error":
        words = _words(detail)
        return f"{', '.join(words[:-1])} or {words[-1]}", ""
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = f"from {context['ge']:,}" if "ge" in context else f"up to {context['le']:,}"
        return f"a number {bound}", ""
    if kind == "too_short":
        return f"at least {_counted(context['min_length'])}", ""
    if kind == "too_long":
        return f"{_counted(context['max_length'])} at most", ""
    return _TYPES.get(kind, (detail["msg"], ""))


def _counted(number: int) -> str:
    return "one entry" if number == 1 else f"{number} entries"


#: What takes more than one form, by the key.
_FORMS: dict[str | int, tuple[str, str]] = {
    "backward": ("a name or a mapping", "write 'backward: z', or 'backward: {z: gradient}'"),
    "zero_grad": ("a name, a list of names, or 'all'", ""),
    "tolerance": ("a mapping", "write {rtol: 1e-6, atol: 1e-9}"),
    "generalize": ("true, false or a mapping", "write {trials: 3, dims: {n: [1, 7]}}"),
}
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
