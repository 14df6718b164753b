"""Fact: something that was found out, as data. What is said of it stands in `reports/phrases`, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """A kind, which is a key of `gradcheck.reports.phrases.PHRASES`, and what its sentence speaks of: names, numbers,
    shapes, further facts. Facts are compared by both; no code reads a sentence."""

    kind: str
    data: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """One part of the data. Raises KeyError."""
        return dict(self.data)[name]


def fact(kind: str, /, **data: Any) -> Fact:
    """A Fact, its data by name."""
    return Fact(kind, tuple(data.items()))
