"""In words: what may have been meant, and where a formula is seen to fail."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
