"""In words: what the oracles found."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
