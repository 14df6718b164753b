"""In words: why a gradient could not be explained or derived."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
