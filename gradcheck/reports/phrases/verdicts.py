"""In words: who is wrong, of those who disagree."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

VERDICTS: dict[str, str | Callable[[Fact], str]] = {}
