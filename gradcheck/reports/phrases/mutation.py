"""In words: what was planted, and where."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
