"""The sizes beyond which a file is refused before any work is done on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`numbers` counts the values that one file writes out, `elements` those of one tensor."""

    bytes: int = 10_000_000
    depth: int = 100
    numbers: int = 100_000
    elements: int = 100_000_000
    #: Errors shown of one file; the last says how many more there are.
    errors: int = 100


DEFAULT = Limits()
