"""Tables of many entries in few tests: each entry is tried, and what fails is named.

A test of its own for each of a thousand entries costs pytest more than most of them take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gradcheck.autograd.op import TABLE
from tests.sampling import sample

Check = Callable[[Any], None]


def for_each(entries: Iterable[Any]) -> Callable[[Check], Callable[[], None]]:
    """One test of a check of an entry, for all of these."""
    listed = list(entries)

    def decorate(check: Check) -> Callable[[], None]:
        def test() -> None:
            try_each(listed, check)

        return _named(test, check)

    return decorate


def for_each_by_family(
    entries: Iterable[Any], op: Callable[[Any], str] = str, share: int = 1
) -> Callable[[Check], Callable[..., None]]:
    """A test for each family of ops, that is each file of the table, of a check of an entry; `op` names an entry's.

    Each check takes other entries where it takes one in `share`: no op is left out by all.
    """
    families: dict[str, list[Any]] = {}
    for entry in entries:
        families.setdefault(TABLE[op(entry)].forward.__module__.rpartition(".")[2], []).append(entry)

    def decorate(check: Check) -> Callable[..., None]:
        @pytest.mark.parametrize("family", families)
        def test(family: str) -> None:
            try_each(sample(families[family], share, lambda entry: f"{check.__name__} {entry}"), check)

        return _named(test, check)

    return decorate


def try_each(entries: Iterable[Any], check: Check) -> None:
    """Fails, after the last, with what was said of each that did."""
    wrong = []
    for entry in entries:
        try:
            check(entry)
        except Exception as error:
            wrong.append(f"{entry}: {type(error).__name__}: {error}")
    assert not wrong, f"{len(wrong)} fail:\n" + "\n".join(wrong)


def _named(test: Any, check: Check) -> Any:
    test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
    test.__qualname__ = check.__qualname__
    if hasattr(check, "pytestmark"):
        test.pytestmark = [*getattr(test, "pytestmark", ()), *check.pytestmark]
    return test
