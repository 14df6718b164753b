"""What the oracles found, in words."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.facts import Fact

ORACLES: dict[str, str | Callable[[Fact], str]] = {}
