"""In words: why a gradient is wrong: mistakes that were recognised."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

DIAGNOSES: dict[str, str | Callable[[Fact], str]] = {}
