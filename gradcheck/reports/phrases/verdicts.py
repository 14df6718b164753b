"""In words: who is wrong, of those who disagree."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
