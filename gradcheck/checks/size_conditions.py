"""What sizes must be like, as far as drawn points show: `n <= m`, where none is left that says anything with n > m."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

Sizes = Mapping[str, int]
_BETWEEN: tuple[tuple[str, Callable[[int, int], bool]], ...] = (
    ("<=", lambda a, b: a <= b),
    ("<", lambda a, b: a < b),
    ("==", lambda a, b: a == b),
)


def needed(accepted: Sequence[Sizes], rejected: Sequence[Sizes]) -> str:
    """The simplest condition that holds at all sizes that were accepted and at none that was rejected, or nothing."""
    if not rejected or not accepted:
        return ""
    words = list(rejected[0])
    for text, holds in _conditions(words, [*accepted, *rejected]):
        if all(map(holds, accepted)) and not any(map(holds, rejected)):
            return text
    return ""


def _conditions(words: Sequence[str], seen: Sequence[Sizes]) -> Iterator[tuple[str, Callable[[Sizes], bool]]]:
    """Between two words; then of one word and the least that it may be."""
    for sign, compare in _BETWEEN:
        for a, b in permutations(words, 2):
            if sign in ("<=", "<") or a < b:
                yield f"{a} {sign} {b}", lambda sizes, a=a, b=b, compare=compare: compare(sizes[a], sizes[b])  # type: ignore[misc]
    for word in words:
        for least in sorted({sizes[word] for sizes in seen}):
            yield f"{word} >= {least}", lambda sizes, word=word, least=least: sizes[word] >= least  # type: ignore[misc]
