"""Validation of a document against the model, each mistake at its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradcheck.autograd import dtypes
from gradcheck.errors import Hint, InvalidCase
from gradcheck.language.loader import model
from gradcheck.language.loader.schema_types import RecordType, Violation
from gradcheck.language.loader.yaml_document import BROKEN, Document, describe, path_text, shorten
from gradcheck.language.loader.yaml_mistakes import find_mistake_in_text
from gradcheck.language.suggest import nearest

_CASE_KEYS = tuple(model.Case.keys)
#: The keys of the records below a case, by the key that they stand under.
_KEYS_BELOW = {name: tuple(record.keys) for name, record in model.Case.records_below().items()}
_DEFINING = frozenset({"dims", "inputs", "constants", "graph", "let", "shapes"})
#: Synonyms of keys, from other tools and habits.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    word: tuple(meant.split())
    for meant, words in {
        "formulas expected": "gradients gradient grads grad derivatives derivative backprop",
        "jacobians": "jacobian jac",
        "hessians": "hessian hess",
        "inputs": "parameters params weights variables vars leaves tensors arguments args",
        "constants": "data consts buffers targets target labels masks",
        "graph": "forward computation compute model ops operations nodes expressions functions program",
        "dims": "sizes size dimensions dim symbols",
        "backward": "loss root roots output outputs incoming",
        "checks": "asserts assert assertions tests identities invariants properties",
        "name": "title id",
        "description": "desc comment comments notes doc summary",
        "dtype": "type precision datatype",
        "let": "intermediates intermediate derivation definitions define where",
        "wrong_formulas": "wrong incorrect wrong_gradients mistakes",
        "tolerance": "rtol atol tol tolerances eps",
        "generalize": "trials generalise general",
    }.items()
    for word in words.split()
}
#: Only the first errors get a hint, which costs more than the error.
_MOST_HINTS = 50
_CASE = RecordType(model.Case)
_EMPTY_MODEL = model.Case()


def is_misplaced(name: str, data: Any) -> bool:
    """Return whether an entry of a section is itself a section."""
    return name in _CASE_KEYS and isinstance(data, dict) and bool(data) and not data.keys() & {"values", "shape"}


class AllNames(set[str]):
    """A set that contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


class ValidationResult:
    """The valid part of a document as `model`, and the errors."""

    def __init__(self) -> None:
        self.model = _EMPTY_MODEL
        self.errors: list[InvalidCase] = []
        self.possibly_defined: set[str] = set()  # names that errors may hide
        #: Top-level keys, and beginnings of paths, that hold a mistake.
        self.broken: set[Any] = set()
        self.intended_keys: set[str] = set()  # top-level keys that unknown keys probably mean


def check(document: Document) -> ValidationResult:
    """Validate `document`, and remove its invalid parts."""
    checked = ValidationResult()
    if document.incomplete:
        checked.possibly_defined = AllNames()
    if not isinstance(document.data, dict):
        hint = "a case begins with keys such as 'inputs:' and 'graph:'; a line --- stands between two cases"
        message = f"a case is a mapping, not {describe(document.data)}"
        checked.errors.append(InvalidCase(message, place=document.place(), hint=hint))
        return checked
    while True:
        odd: list[Violation] = []
        read = _CASE.read(document.data, (), odd)
        if not odd:
            checked.model = read
            return checked
        _Explanation(document, checked).explain(odd)
        for one in odd:
            _remove_invalid(document.data, one.at, checked)


def _remove_invalid(data: dict[str, Any], loc: tuple[str | int, ...], checked: ValidationResult) -> None:
    """Remove the innermost key on the way to `loc`, and note its names."""
    checked.broken.update((str(loc[0]), loc[:2]))
    steps = data.get("steps")
    if loc[0] == "steps" and len(loc) == 2 and isinstance(steps, list) and isinstance(loc[1], int):
        steps[loc[1]] = {"forward": {}}  # so that the other steps keep their numbers
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
    checked.possibly_defined.add(str(key))
    if isinstance(removed, dict):
        checked.possibly_defined.update(map(str, removed))
    elif key in _DEFINING:
        checked.possibly_defined = AllNames()


class _Explanation:
    """The errors of one validation; it lists the known keys once."""

    def __init__(self, document: Document, checked: ValidationResult) -> None:
        self.document, self.checked = document, checked
        self.hints = _MOST_HINTS  # how many more hints may be given
        self.empty = {key: value for key, value in document.data.items() if value is None}
        self.is_listed = False

    def explain(self, odd: list[Violation]) -> None:
        """Add the errors, unless the value itself could not be read."""
        for one in odd:
            if one.found is not BROKEN:
                self.checked.errors.append(self._error(one))
                self.hints -= 1

    def _error(self, odd: Violation) -> InvalidCase:
        loc, found = odd.at, odd.found
        if odd.what == "unknown":
            return self._unknown_key(loc)
        if odd.what == "lacking":
            message = f"{path_text(loc[:-1])} needs a '{loc[-1]}'"
            return InvalidCase(message, place=self.document.key_place(loc[:-1]), hint=f"it begins with {loc[-1]}: …")
        what, hint = _expectation(odd)
        slip = self._slip(loc, found, what)
        if slip is not None:
            return slip
        if found is None:
            message = f"{path_text(loc)} has no value, it takes {what}"
            return InvalidCase(message, place=self.document.key_place(loc), hint="leave it out or fill it in")
        if odd.what == "choice" and isinstance(found, str):
            hint = _choice(found, odd.words)
        if what == "an integer" and isinstance(found, float) and found.is_integer():
            hint = Hint(f"write {int(found)}", repr(found), str(int(found)))
        if what == _LIST[0] and isinstance(found, str):
            hint = Hint(f"write [{shorten(found, 40)}]", found, f"[{found}]")
        if what == model.FLAG_OR_MAPPING[0] and isinstance(found, str):
            hint = _truth(found) or hint
        if what == _MAPPING[0] and isinstance(found, list):
            hint = "write 'name: value', each on a line of its own, without '- '"
        if loc == ("backward",) and isinstance(found, list) and len(found) == 1:
            hint = f"write backward: {found[0]}"
        shown = f"{len(found)}" if odd.what in ("short", "long") else describe(found)
        return InvalidCase(f"{path_text(loc)} takes {what}, not {shown}", place=self.document.place(loc), hint=hint)

    def _slip(self, loc: tuple[str | int, ...], found: Any, what: str) -> InvalidCase | None:
        """Return the error of a missing space or colon behind a wrong type."""
        place = None
        if what == _MAPPING[0] and isinstance(found, str):
            lines = self.document.lines_of(loc, found)
            slip = find_mistake_in_text(lines[0])
            place = slip and self.document.locate(loc, found, slip.column)
            for above, line in enumerate(lines[1:], 1):
                if place is not None and (further := find_mistake_in_text(line)):
                    there = replace(place, line=place.line + above, column=further.column + 1)
                    self.checked.errors.append(InvalidCase(further.message, place=there, hint=further.hint))
        else:
            slip = find_mistake_in_text(str(loc[-1])) if found is None else None
            place = slip and replace(key := self.document.key_place(loc), column=key.column + slip.column)
        if slip is None or place is None:
            return None
        self.checked.possibly_defined.add(str(loc[-1]).partition(":")[0])
        return InvalidCase(slip.message, place=place, hint=slip.hint)

    def _unknown_key(self, loc: tuple[str | int, ...]) -> InvalidCase:
        """Return the error of the unknown key that ends `loc`."""
        key, is_top = str(loc[-1]), len(loc) == 1
        known = _CASE_KEYS if is_top else _KEYS_BELOW[str(loc[0])]
        meant = _SYNONYMS.get(key.lower(), ()) if is_top else ()
        close = nearest(key, known) if self.hints > 0 and not meant else ""
        hint = ""
        if above := self._empty_above(key) if is_top else "":
            self.checked.possibly_defined.add(key)
            hint = Hint(f"it stands below '{above}:' without being indented", key, f"  {key}")
        elif meant:
            hint = self._synonym_hint(key, meant)
        elif is_top and (below := self._sections_in(key)):
            self.checked.intended_keys.update(below)
            hint = f"'{below[0]}' and the other keys stand at the margin"
        elif close:
            hint = Hint(f"did you mean '{close}'?", key, close)
            if is_top:
                self.checked.intended_keys.add(close)
        elif not is_top and key in _CASE_KEYS:
            hint = f"'{key}' belongs to the case itself: check the indentation"
        elif not self.is_listed:
            hint = f"the keys here are {', '.join(known)}"
            self.is_listed = True
        return InvalidCase(f"unknown key '{shorten(key, 40)}'", place=self.document.key_place(loc), hint=hint)

    def _empty_above(self, key: str) -> str:
        """Return the empty section right above a top-level key, or ""."""
        if not self.empty or self.hints <= 0:
            return ""
        keys = list(self.document.data)
        before = [name for name in keys[: keys.index(key)] if name in _CASE_KEYS] if key in keys else []
        section = before[-1] if before else ""
        return section if section in _DEFINING and self.empty.get(section, 0) is None else ""

    def _sections_in(self, key: str) -> list[str]:
        """Return the keys of a case below an unknown key."""
        value = self.document.data.get(key)
        return [name for name in value if name in _CASE_KEYS] if isinstance(value, dict) else []

    def _synonym_hint(self, key: str, meant: tuple[str, ...]) -> str:
        """Return the keys that a synonym means, by the type of its entries."""
        self.checked.intended_keys.update(meant)
        if key.lower() in ("rtol", "atol", "trials"):
            return f"write {meant[0]}: {{{key.lower()}: {self.document.data[key]}}}"
        listed = " or ".join(f"'{name}'" for name in meant)
        value = self.document.data.get(key)
        entries = list(value.values()) if isinstance(value, dict) else []
        if len(meant) == 1:
            new = meant[0]
        elif entries and all(isinstance(one, str) for one in entries):
            new = "formulas"
        else:
            new = "expected" if entries and not any(isinstance(one, str) for one in entries) else ""
        return Hint(f"did you mean {listed}?", key if new else "", new)


def _truth(found: str) -> str:
    word = {"no": "false", "off": "false", "yes": "true", "on": "true"}.get(found.lower())
    word = word or nearest(found.lower(), ("true", "false"))
    return Hint(f"did you mean {word}?", found, word) if word else ""


def _choice(found: str, known: tuple[str, ...]) -> str:
    word = found.removeprefix("torch.").removeprefix("np.").lower()
    word = word if word in (*known, "float") else dtypes.ALIASES.get(word, word)
    close = word if word in known else nearest(word, known)
    integers = "integers stand under `constants`, and keep their dtype" if word in dtypes.BY_NAME else ""
    return Hint(f"did you mean '{close}'?", found, close) if close else integers


def _expectation(odd: Violation) -> tuple[str, str]:
    if odd.usage is not None and odd.what in (*_TYPES, "pattern"):
        return odd.usage
    if odd.what == "choice":
        *words, last = odd.words
        return f"{', '.join(words)} or {last}", ""
    if odd.what in ("low", "high"):
        return f"a number {'from' if odd.what == 'low' else 'up to'} {odd.bound:,}", ""
    if odd.what == "short":
        return f"at least {_counted(odd.bound)}", ""
    if odd.what == "long":
        return f"{_counted(odd.bound)} at most", ""
    return _TYPES.get(odd.what, ("text that is not empty", ""))


def _counted(number: int) -> str:
    return "one entry" if number == 1 else f"{number} entries"


_LIST = ("a list", "write [first, second], or each item on a line of its own after '- '")
_MAPPING = ("a mapping", "write 'name: value', each on a line of its own")
#: Expected values by the kind of violation.
_TYPES = {
    "text": ("text", "put it in quotes"),
    "integer": ("an integer", ""),
    "flag": ("true or false", ""),
    "list": _LIST,
    "mapping": _MAPPING,
}
