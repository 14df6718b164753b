"""Saying a fact: the table of phrases, filled by the modules beside this one, and the function that looks one up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradcheck.facts import Fact

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
    if not isinstance(phrase, str):
        return phrase(found)
    return phrase.format(**{name: say(part) if isinstance(part, Fact) else part for name, part in found.data})


def named(name: str | Fact) -> str:
    """An engine or a method by its name; what has none by its phrase."""
    return name if isinstance(name, str) else say(name)


def listed(names: tuple[str | Fact, ...]) -> str:
    """`torch, core and complex step`."""
    *first, last = map(named, names)
    return f"{', '.join(first)} and {last}" if first else last
