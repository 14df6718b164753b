"""In words: what holds for an engine."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
