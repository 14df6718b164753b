"""In words: what comparisons of claims came to, where numbers do not say it."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

CLAIMS: dict[str, str | Callable[[Fact], str]] = {}
