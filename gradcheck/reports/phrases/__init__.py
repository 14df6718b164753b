"""Every sentence that gradcheck says about its findings.

A `Fact` is said by the phrase of its kind: a template that the fact's data fills, or a function of the fact. A new kind
of fact is an entry in the module of its subject here. Rewording a phrase changes no behaviour: nothing below `reports`
imports this package, and nothing reads its sentences.
"""

from gradcheck.reports.phrases import (
    claim_phrases,  # noqa: F401 (they fill the table)
    diagnosis_phrases,  # noqa: F401 (they fill the table)
    engine_phrases,  # noqa: F401 (they fill the table)
    graph_error_phrases,  # noqa: F401 (they fill the table)
    verdict_phrases,  # noqa: F401 (they fill the table)
)
from gradcheck.reports.phrases.phrase_table import PHRASES, add_phrases, say

__all__ = ["PHRASES", "add_phrases", "say"]
