"""The table of phrases, and `say`, which looks a phrase up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from string import Formatter
from typing import Any

from gradcheck.facts import Fact
from gradcheck.reports.number_formats import NUMBER_FORMATS, format_number
from gradcheck.reports.safe_text import count, ordinal

Phrase = str | Callable[[Fact], str]

#: By kind of fact: a template, filled with the fact's data, or a function of the fact.
PHRASES: dict[str, Phrase] = {}


def add_phrases(table: Mapping[str, Phrase]) -> None:
    """Add the phrases of a subject. Raises ValueError for a known kind."""
    known = PHRASES.keys() & table.keys()
    if known:
        raise ValueError(f"there are phrases already for {', '.join(sorted(known))}")
    PHRASES.update(table)


def say(found: Fact | None) -> str:
    """Return a fact's sentence, "" for None. Raises KeyError for a new kind."""
    if found is None:
        return ""
    phrase = PHRASES[found.kind]
    return _filled(phrase, dict(found.data)) if isinstance(phrase, str) else phrase(found)


def name_of_source(name: str | Fact) -> str:
    """Return the name of an engine or a method; of a fact, its phrase."""
    return name if isinstance(name, str) else say(name)


def join_names(names: tuple[str | Fact, ...]) -> str:
    """Return `torch, core and complex step`."""
    *first, last = map(name_of_source, names)
    return f"{', '.join(first)} and {last}" if first else last


def join_first(names: tuple[str, ...], most: int, noun: str = "") -> str:
    """Return `torch, core and 3 more`, or all names if they are few."""
    more = len(names) - most
    rest = count(more, f"more {noun}") if noun else f"{more} more"
    return join_names(names if more <= 0 else (*names[:most], rest))


def ranges(places: Iterable[int], to: str = " to ") -> str:
    """Return `0, 4 to 7`."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][-1] == place - 1:
            found[-1] = [found[-1][0], place]
        else:
            found.append([place])
    return ", ".join(to.join(map(str, one)) for one in found)


#: Formats of data in templates, such as `{names:list}`, beyond Python's own.
FORMATTERS: dict[str, Callable[[Any], str]] = {
    **{kind: partial(format_number, kind) for kind in NUMBER_FORMATS},
    "list": join_names,
    "and": lambda names: " and ".join(map(name_of_source, names)),
    "commas": ", ".join,
    "ordinal": ordinal,
    "ordinals": lambda places: " and ".join(map(ordinal, places)),
    "ranges": ranges,
    "number": lambda place: str(place + 1),
    "s": lambda number: "" if number == 1 else "s",
    "shape": lambda sizes: f"[{', '.join(map(str, sizes))}]",
    "shapes": lambda shapes: " and ".join(f"[{', '.join(map(str, sizes))}]" for sizes in shapes),
    "sizes": lambda sizes: ", ".join(f"{name} = {size}" for name, size in sizes),
    "axes": lambda axes: f"{'axis' if len(axes) == 1 else 'axes'} {join_names(tuple(map(str, axes)))}",
    "closeness": lambda error: " exactly" if not error else f" to {format_number('magnitude', error)}",
}
#: Conditions that choose a template: `{axis:given along axis {axis}|everywhere}`; the second is optional.
CONDITIONS: dict[str, Callable[[Any], bool]] = {
    "if": bool,
    "finite": math.isfinite,
    "given": lambda value: value is not None,
    "one": lambda value: (value if isinstance(value, int) else len(value)) == 1,
}


def _filled(template: str, data: Mapping[str, Any]) -> str:
    pieces: list[str] = []
    for text, field, spec, _ in Formatter().parse(template):
        pieces.append(text)
        if field is not None:
            value, _ = Formatter().get_field(field, (), data)
            pieces.append(_piece(value, spec or "", data))
    return "".join(pieces)


def _piece(value: Any, spec: str, data: Mapping[str, Any]) -> str:
    form, _, templates = spec.partition(" ")
    if form in CONDITIONS:
        taken, _, other = templates.partition("|")
        return _filled(taken if CONDITIONS[form](value) else other, data)
    if form in FORMATTERS:
        return FORMATTERS[form](value)
    return format(say(value) if isinstance(value, Fact) else value, spec)
