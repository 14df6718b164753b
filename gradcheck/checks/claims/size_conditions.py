"""Infer a condition on sizes from points: `n <= m`.

Few points fit many conditions, so a condition is tried at its edge: `n >= 5` is reported only if a point with 4 is
rejected.
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
#: The limit for tries at edges.
_MOST_TRIED = 12


class _Condition(NamedTuple):
    """A condition's text, its test, and sizes at its edge."""

    text: str
    holds: Callable[[Sizes], bool]
    edge: Callable[[Sizes], Sizes]


def size_condition(
    accepted: Sequence[Sizes], rejected: Sequence[Sizes], accepts: Callable[[Sizes], bool | None]
) -> str:
    """Return the simplest condition that separates accepted from rejected.

    `accepts` returns whether other sizes would be accepted, None if unknown. The text is empty without a condition.
    """
    if not rejected or not accepted:
        return ""
    good, bad = list(accepted), list(rejected)
    for _ in range(_MOST_TRIED):
        listed = _conditions(list(bad[0]), [*good, *bad])
        found = next((c for c in listed if all(map(c.holds, good)) and not any(map(c.holds, bad))), None)
        if found is None:
            return ""
        edge = found.edge(good[0])
        answer = None if edge in good or edge in bad or min(edge.values()) < 1 else accepts(edge)
        if answer is None:
            return found.text
        (good if answer else bad).append(edge)
    return ""


def _conditions(words: Sequence[str], seen: Sequence[Sizes]) -> Iterator[_Condition]:
    """Yield conditions between two words, then lower bounds of one."""
    for sign, compare, beyond in _BETWEEN:
        for a, b in permutations(words, 2):
            if sign in ("<=", "<") or a < b:
                yield _between(a, b, sign, compare, beyond)
    for word in words:
        for least in sorted({sizes[word] for sizes in seen}):
            yield _at_least(word, least)


def _between(a: str, b: str, sign: str, compare: Callable[[int, int], bool], beyond: int) -> _Condition:
    return _Condition(
        f"{a} {sign} {b}", lambda sizes: compare(sizes[a], sizes[b]), lambda sizes: {**sizes, a: sizes[b] + beyond}
    )


def _at_least(word: str, least: int) -> _Condition:
    return _Condition(
        f"{word} >= {least}", lambda sizes: sizes[word] >= least, lambda sizes: {**sizes, word: least - 1}
    )
