"""In words: why a gradient could not be explained or derived."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

EXPLANATIONS: dict[str, str | Callable[[Fact], str]] = {}
