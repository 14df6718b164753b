"""What sizes must be like, as far as points show: `n <= m`, where none is left that says anything with n > m.

A few points fit many conditions. The one that is told is tried at its edge: `n >= 5` only if 4 says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

Sizes = Mapping[str, int]
_BETWEEN: tuple[tuple[str, Callable[[int, int], bool], int], ...] = (
    ("<=", lambda a, b: a <= b, 0),
    ("<", lambda a, b: a < b, 0),
    ("==", lambda a, b: a == b, 1),
)
#: At so many edges conditions are tried.
_MOST_TRIED = 12


class _Condition(NamedTuple):
    """In words; whether it holds; and other sizes in place of some, where it just holds or just does not."""

    text: str
    holds: Callable[[Sizes], bool]
    edge: Callable[[Sizes], Sizes]


def size_condition(accepted: Sequence[Sizes], rejected: Sequence[Sizes], says: Callable[[Sizes], bool | None]) -> str:
    """The simplest condition that holds at all sizes that were accepted and at none that was rejected, or nothing.
    `says` tells whether other sizes would be accepted, None where that cannot be known."""
    if not rejected or not accepted:
        return ""
    good, bad = list(accepted), list(rejected)
    for _ in range(_MOST_TRIED):
        listed = _conditions(list(bad[0]), [*good, *bad])
        found = next((c for c in listed if all(map(c.holds, good)) and not any(map(c.holds, bad))), None)
        if found is None:
            return ""
        edge = found.edge(good[0])
        answer = None if edge in good or edge in bad or min(edge.values()) < 1 else says(edge)
        if answer is None:
            return found.text
        (good if answer else bad).append(edge)
    return ""


def _conditions(words: Sequence[str], seen: Sequence[Sizes]) -> Iterator[_Condition]:
    """Between two words; then of one word and the least that it may be."""
    for sign, compare, beyond in _BETWEEN:
        for a, b in permutations(words, 2):
            if sign in ("<=", "<") or a < b:
                yield _between(a, b, sign, compare, beyond)
    for word in words:
        for least in sorted({sizes[word] for sizes in seen}):
            yield _at_least(word, least)


def _between(a: str, b: str, sign: str, compare: Callable[[int, int], bool], beyond: int) -> _Condition:
    return _Condition(
        f"{a} {sign} {b}",
        lambda sizes: compare(sizes[a], sizes[b]),
        lambda sizes: {**sizes, a: sizes[b] + beyond},
    )


def _at_least(word: str, least: int) -> _Condition:
    return _Condition(
        f"{word} >= {least}", lambda sizes: sizes[word] >= least, lambda sizes: {**sizes, word: least - 1}
    )
