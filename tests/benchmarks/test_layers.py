"""The layers by hand are what they say, and their mistakes stand where they are planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.layers import Document, ask, documents, is_named

ALL = list(documents())


def test_there_are_enough_and_each_mistake_changes_the_code() -> None:
    right = {one.name: one.code for one in ALL if not one.bug}
    assert len(right) >= 2 * 25
    assert len({one.name for one in ALL}) == len(ALL) == 4 * len(right)
    assert all(one.code != right[one.name.rpartition(", mistake")[0]] for one in ALL if one.bug)


@pytest.mark.parametrize("document", ALL[1::83], ids=lambda one: one.name)
def test_they_are_told_for_what_they_are(document: Document, tmp_path: Path) -> None:
    found = ask(document, tmp_path / "code")
    assert found.status == ("failed" if document.bug else "passed")
    assert not document.bug or is_named(found)
