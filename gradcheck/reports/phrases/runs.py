"""In words: what befell a case as a whole."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import phrases


def _crashed(found: Fact) -> str:
    return f"{found['error']}: {found['text']}" if found["text"] else str(found["error"])


phrases(
    {
        "ran_out_of_time": "ran out of time after {seconds:g} seconds",
        "ran_out_of_memory": "ran out of memory: {text}",
        "crashed": _crashed,
    }
)
