"""Every sentence that gradcheck says about what it found.

A `Fact` is said by the phrase of its kind: a template, filled with the fact's data, or a function of the fact for what
a template cannot do. A new kind of fact is an entry in the table of its subject here. Rewording one changes no
behaviour: nothing below `reports` can import this package, and nothing reads what it says.
"""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact
from gradcheck.reports.phrases.causes import CAUSES
from gradcheck.reports.phrases.claims import CLAIMS
from gradcheck.reports.phrases.conformance import CONFORMANCE
from gradcheck.reports.phrases.corrections import CORRECTIONS
from gradcheck.reports.phrases.diagnoses import DIAGNOSES
from gradcheck.reports.phrases.explanations import EXPLANATIONS
from gradcheck.reports.phrases.mutation import MUTATION
from gradcheck.reports.phrases.oracles import ORACLES
from gradcheck.reports.phrases.verdicts import VERDICTS

Phrase = str | Callable[[Fact], str]

#: By kind of fact.
PHRASES: dict[str, Phrase] = {
    **CLAIMS,
    **VERDICTS,
    **CAUSES,
    **DIAGNOSES,
    **CORRECTIONS,
    **EXPLANATIONS,
    **MUTATION,
    **CONFORMANCE,
    **ORACLES,
}


def say(found: Fact | None) -> str:
    """The sentence of a fact, without a full stop; empty for none. Raises KeyError for a kind without a phrase."""
    if found is None:
        return ""
    phrase = PHRASES[found.kind]
    return phrase.format(**dict(found.data)) if isinstance(phrase, str) else phrase(found)
