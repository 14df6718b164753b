"""In words: what was planted, and where."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

MUTATION: dict[str, str | Callable[[Fact], str]] = {}
