"""The known word that is nearest to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

from gradcheck.errors import Hint
from gradcheck.language.shell_words import quoted

_LONGEST = 60


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that `word` probably means, or ""."""
    if len(word) > _LONGEST:
        return ""
    from difflib import get_close_matches  # here, since most words are known

    lower = {name.lower(): name for name in known}
    cutoff = 0.7 if len(word) < 3 else 0.65  # two letters of three, in any order, are near; one of two is not
    found = get_close_matches(word.lower(), lower, n=1, cutoff=cutoff)
    return lower[found[0]] if found else ""


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the hint `did you mean 'keepdim'?`, or `otherwise`."""
    found = nearest(word, known)
    return Hint(f"did you mean {quoted(found)}?", word, found) if found else otherwise
