"""Samples of long tables: the same in every run, and everything where GRADCHECK_TEST_EVERYTHING is set."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

EVERYTHING = os.environ.get("GRADCHECK_TEST_EVERYTHING", "") not in ("", "0")


def sample(entries: Iterable[T], share: int, key: Callable[[T], object] = str) -> list[T]:
    """Return one entry in `share`, chosen by its key, so that a new entry exchanges no other."""
    listed = list(entries)
    return listed if EVERYTHING else [e for e in listed if zlib.crc32(str(key(e)).encode()) % share == 0]


def few_of_each(entries: Iterable[T], group: Callable[[T], object], most: int = 2) -> list[T]:
    """Return `most` entries of each group: the first, the last, and others at equal distances."""
    groups: dict[object, list[T]] = {}
    for entry in entries:
        groups.setdefault(group(entry), []).append(entry)
    return [entry for members in groups.values() for entry in evenly_spread(members, most)]


def evenly_spread(entries: list[T], most: int) -> list[T]:
    """Return all entries if they are few, else `most` of them: the first, the last, and others between."""
    if EVERYTHING or len(entries) <= most:
        return entries
    return [entries[round(i * (len(entries) - 1) / max(most - 1, 1))] for i in range(most)]
