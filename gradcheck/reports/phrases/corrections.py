"""In words: what may have been meant, and where a formula is seen to fail."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

CORRECTIONS: dict[str, str | Callable[[Fact], str]] = {}
