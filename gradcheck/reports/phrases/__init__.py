"""Every sentence that gradcheck says about what it found.

A `Fact` is said by the phrase of its kind: a template, filled with the fact's data, or a function of the fact for what
a template cannot do. A new kind of fact is an entry in the table of its subject here. Rewording one changes no
behaviour: nothing below `reports` can import this package, and nothing reads what it says.
"""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact
from gradcheck.reports.phrases.oracles import ORACLES

Phrase = str | Callable[[Fact], str]

#: By kind of fact.
PHRASES: dict[str, Phrase] = {**ORACLES}


def say(fact: Fact | None) -> str:
    """The sentence of a fact, without a full stop; empty for none."""
    if fact is None:
        return ""
    phrase = PHRASES[fact.kind]
    return phrase.format(**dict(fact.data)) if isinstance(phrase, str) else phrase(fact)
