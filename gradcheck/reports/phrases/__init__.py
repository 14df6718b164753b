"""Every sentence that gradcheck says about what it found.

A `Fact` is said by the phrase of its kind: a template, filled with the fact's data, or a function of the fact for what
a template cannot do. A new kind of fact is an entry in the module of its subject here. Rewording one changes no
behaviour: nothing below `reports` can import this package, and nothing reads what it says.
"""

from gradcheck.reports.phrases import causes as causes
from gradcheck.reports.phrases import claims as claims
from gradcheck.reports.phrases import conformance as conformance
from gradcheck.reports.phrases import corrections as corrections
from gradcheck.reports.phrases import diagnoses as diagnoses
from gradcheck.reports.phrases import explanations as explanations
from gradcheck.reports.phrases import mutation as mutation
from gradcheck.reports.phrases import oracles as oracles
from gradcheck.reports.phrases import runs as runs
from gradcheck.reports.phrases import verdicts as verdicts
from gradcheck.reports.phrases.table import PHRASES, listed, named, phrases, say

__all__ = ["PHRASES", "listed", "named", "phrases", "say"]
