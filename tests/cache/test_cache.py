"""Keys hold all that an answer depends on, and nothing is kept that may have come of two states of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradcheck.cache import cache as module
from gradcheck.cache.cache import Cache, cache_of
from gradcheck.cache.signed_store import Entries
from gradcheck.cache.cache_folder import FOLDER
from gradcheck.cache.environment_digest import Surroundings, code

HERE = Surroundings("code", {"numpy": "2.0"}, "others")


@pytest.fixture
def entries(tmp_path: Path) -> Entries:
    return Entries(tmp_path, bytes(32))


def test_a_key_holds_every_part_and_where_it_ends(entries: Entries) -> None:
    here, elsewhere = Cache(entries, HERE), Cache(entries, replace(HERE, others="another machine"))
    newer = Cache(entries, replace(HERE, code="another rule"))
    upgraded = Cache(entries, replace(HERE, libraries={"numpy": "2.1"}))
    parts = [(b"a", b"b"), (b"ab",), (b"ab", b""), (b"b", b"a"), (b"a", b"c")]
    keys = {cache.key(*asked) for cache in (here, elsewhere, newer, upgraded) for asked in parts}
    assert len(keys) == 20
    assert here.key(b"a", b"b") == Cache(entries, HERE).key(b"a", b"b")


def test_it_keeps_while_everything_holds(entries: Entries, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(entries, HERE)
    monkeypatch.setattr(Surroundings, "hold", lambda _: True)
    cache.keep({b"a": b"1"})
    monkeypatch.setattr(Surroundings, "hold", lambda _: False)
    cache.keep({b"b": b"2"})
    assert cache.find([b"a", b"b"]) == {b"a": b"1"}


def test_where_nothing_is_new_nothing_is_looked_at(entries: Entries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Surroundings, "hold")
    Cache(entries, HERE).keep({}, used=[b"a"])
    assert not entries.file.exists()


@pytest.mark.parametrize(("ci", "doubted"), [("", 0.0), ("false", 0.0), ("0", 0.0), ("true", 0.1), ("1", 0.1)])
def test_a_tenth_is_doubted_where_machines_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, doubted: float
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CI", ci)
    found = cache_of("code", (), tmp_path / "project" / FOLDER)
    assert found is not None
    assert found.doubted == doubted


def test_there_is_none_without_a_secret_or_where_something_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert cache_of(code(), ("numpy",), tmp_path / "project" / FOLDER) is not None
    assert cache_of(None, ("numpy",), tmp_path / "project" / FOLDER) is None
    monkeypatch.setattr(module, "secret", lambda: None)
    assert cache_of(code(), ("numpy",), tmp_path / "project" / FOLDER) is None
