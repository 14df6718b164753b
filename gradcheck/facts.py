"""Fact: a finding as data. Its sentence stands in `reports/phrases` alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """A key of `reports.phrases.PHRASES`, and data; no code reads a sentence."""

    kind: str
    data: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return one part of the data. Raises KeyError."""
        return dict(self.data)[name]


def fact(kind: str, /, **data: Any) -> Fact:
    """Return a Fact, its data by name."""
    return Fact(kind, tuple(data.items()))
