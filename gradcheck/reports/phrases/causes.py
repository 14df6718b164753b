"""In words: where something goes wrong first, and what is wrong there."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

CAUSES: dict[str, str | Callable[[Fact], str]] = {}
