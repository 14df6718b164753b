"""In words: why a gradient is wrong: mistakes that were recognised."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
