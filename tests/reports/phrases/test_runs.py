"""What befell a case as a whole, word by word."""

from __future__ import annotations

from gradcheck.facts import fact
from gradcheck.reports.phrases import say


def test_what_ended_a_case() -> None:
    assert say(fact("ran_out_of_time", seconds=5.0)) == "ran out of time after 5 seconds"
    assert say(fact("ran_out_of_memory", text="2 GiB")) == "ran out of memory: 2 GiB"
    assert say(fact("crashed", error="ValueError", text="boom")) == "ValueError: boom"
    assert say(fact("crashed", error="ValueError", text="")) == "ValueError"
