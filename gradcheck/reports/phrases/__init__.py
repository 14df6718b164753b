"""Every sentence that gradcheck says about what it found.

A `Fact` is said by the phrase of its kind: a template, filled with the fact's data, or a function of the fact for what
a template cannot do. A new kind of fact is an entry in the module of its subject here. Rewording one changes no
behaviour: nothing below `reports` can import this package, and nothing reads what it says.
"""

from gradcheck.reports.phrases import (  # noqa: F401 (they fill the table)
    claims,
    diagnoses,
    engines,
    formulas,
    implementations,
    refusals,
    verdicts,
)
from gradcheck.reports.phrases.table import PHRASES, phrases, say

__all__ = ["PHRASES", "phrases", "say"]
