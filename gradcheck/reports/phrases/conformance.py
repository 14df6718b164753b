"""In words: what holds for an engine."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

CONFORMANCE: dict[str, str | Callable[[Fact], str]] = {}
