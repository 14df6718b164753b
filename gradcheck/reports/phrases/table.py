"""Saying a fact: the table of phrases, filled by the modules beside this one, and the function that looks one up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradcheck.facts import Fact
from gradcheck.reports.text import plain

Phrase = str | Callable[[Fact], str]

#: By kind of fact: a template, filled with the fact's data, or a function of the fact.
PHRASES: dict[str, Phrase] = {}


def phrases(table: Mapping[str, Phrase]) -> None:
    """Enter the phrases of one subject. Raises ValueError where a kind has one already."""
    known = PHRASES.keys() & table.keys()
    if known:
        raise ValueError(f"there are phrases already for {', '.join(sorted(known))}")
    PHRASES.update(table)


def say(found: Fact | None) -> str:
    """The sentence of a fact, without a full stop; empty for none. Raises KeyError for a kind without a phrase."""
    if found is None:
        return ""
    phrase = PHRASES[found.kind]
    return phrase.format(**dict(found.data)) if isinstance(phrase, str) else phrase(found)


def named(name: str | Fact) -> str:
    """An engine or a method by its name; what has none by its phrase."""
    return plain(name) if isinstance(name, str) else say(name)


def listed(names: tuple[str | Fact, ...]) -> str:
    """`torch, core and complex step`."""
    *first, last = map(named, names)
    return f"{', '.join(first)} and {last}" if first else last
