"""In words: where something goes wrong first, and what is wrong there."""

from __future__ import annotations

from gradcheck.reports.phrases.table import phrases

phrases({})
