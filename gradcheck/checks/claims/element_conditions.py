"""Conditions on elements by sign or size, and on sizes such as `n <= m`.

Few points fit many conditions on sizes, so one is tried at its edge: `n >= 5` is reported only if a point with 4 is
rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from gradcheck.facts import Fact, fact

#: A point's tensors by name, and the mask of the elements.
PointElements = tuple[Mapping[str, np.ndarray], np.ndarray]

_SIGNS: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("< 0", lambda x: x < 0),
    ("== 0", lambda x: x == 0),
    ("> 0", lambda x: x > 0),
    ("<= 0", lambda x: x <= 0),
    (">= 0", lambda x: x >= 0),
)
Sizes = Mapping[str, int]
_BETWEEN: tuple[tuple[str, Callable[[int, int], bool], int], ...] = (
    ("<=", lambda a, b: a <= b, 0),
    ("<", lambda a, b: a < b, 0),
    ("==", lambda a, b: a == b, 1),
)
#: The limit for tries at edges.
_MOST_TRIED = 12


def element_condition(seen: Sequence[PointElements]) -> Fact | None:
    """Return the sign or threshold of a tensor that selects the elements."""
    names = [name for name in (seen[0][0] if seen else ()) if all(name in tensors for tensors, _ in seen)]
    for name in names:
        pairs = [(tensors[name], mask) for tensors, mask in seen]
        for text, holds in _SIGNS:
            if all(a.shape == mask.shape and np.array_equal(holds(a), mask) for a, mask in pairs):
                return fact("where_element", tensor=name, condition=text)
            # all are selected if it holds anywhere, else none
            if all(mask.all() == mask.any() == bool(np.any(holds(a))) for a, mask in pairs):
                return fact("where_some_element", tensor=name, condition=text)
        for text in _thresholds(pairs):
            return fact("where_element", tensor=name, condition=text)
    return None


def _thresholds(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Iterator[str]:
    if any(a.shape != mask.shape for a, mask in pairs):
        return
    numbers, mask = (np.concatenate([one.ravel() for one in side]) for side in zip(*pairs, strict=True))
    if not mask.any() or mask.all():
        return
    rest = numbers[~mask]
    if np.min(numbers[mask]) > np.max(rest):
        yield f"> {_between(np.max(rest), np.min(numbers[mask])):g}"
    if np.max(numbers[mask]) < np.min(rest):
        yield f"< {_between(np.max(numbers[mask]), np.min(rest)):g}"


def _between(low: float, high: float) -> float:
    """Return the number with the fewest digits between two."""
    for digits in range(-3, 12):
        number = round((low + high) / 2, digits)
        if low <= number <= high:
            return number
    return (low + high) / 2


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
                yield _pair_condition(a, b, sign, compare, beyond)
    for word in words:
        for least in sorted({sizes[word] for sizes in seen}):
            yield _at_least(word, least)


def _pair_condition(a: str, b: str, sign: str, compare: Callable[[int, int], bool], beyond: int) -> _Condition:
    return _Condition(
        f"{a} {sign} {b}", lambda sizes: compare(sizes[a], sizes[b]), lambda sizes: {**sizes, a: sizes[b] + beyond}
    )


def _at_least(word: str, least: int) -> _Condition:
    return _Condition(
        f"{word} >= {least}", lambda sizes: sizes[word] >= least, lambda sizes: {**sizes, word: least - 1}
    )
