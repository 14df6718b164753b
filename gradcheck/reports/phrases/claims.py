"""In words: what comparisons of claims came to, where numbers do not say it."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
