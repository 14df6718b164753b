"""Keys hold all that an answer depends on, and nothing is kept that may have come of two states of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradcheck.cache import cache as module
from gradcheck.cache.cache import Cache, user_cache
from gradcheck.cache.cache_folder import FOLDER
from gradcheck.cache.environment_digest import EnvironmentDigest, package_digest
from gradcheck.cache.signed_store import SignedStore

HERE = EnvironmentDigest("code", {"numpy": "2.0"}, "others")


@pytest.fixture
def entries(tmp_path: Path) -> SignedStore:
    return SignedStore(tmp_path, bytes(32))


def test_a_key_holds_every_part_and_where_it_ends(entries: SignedStore) -> None:
    here, elsewhere = Cache(entries, HERE), Cache(entries, replace(HERE, machine="another machine"))
    newer = Cache(entries, replace(HERE, code="another rule"))
    upgraded = Cache(entries, replace(HERE, libraries={"numpy": "2.1"}))
    parts = [(b"a", b"b"), (b"ab",), (b"ab", b""), (b"b", b"a"), (b"a", b"c")]
    keys = {cache.key(*asked) for cache in (here, elsewhere, newer, upgraded) for asked in parts}
    assert len(keys) == 20
    assert here.key(b"a", b"b") == Cache(entries, HERE).key(b"a", b"b")


def test_it_keeps_while_everything_holds(entries: SignedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(entries, HERE)
    monkeypatch.setattr(EnvironmentDigest, "is_unchanged", lambda _: True)
    cache.store({b"a": b"1"})
    monkeypatch.setattr(EnvironmentDigest, "is_unchanged", lambda _: False)
    cache.store({b"b": b"2"})
    assert cache.find([b"a", b"b"]) == {b"a": b"1"}


def test_where_nothing_is_new_nothing_is_looked_at(entries: SignedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(EnvironmentDigest, "is_unchanged")
    Cache(entries, HERE).store({}, used=[b"a"])
    assert not entries.file.exists()


@pytest.mark.parametrize(("ci", "doubted"), [("", 0.0), ("false", 0.0), ("0", 0.0), ("true", 0.1), ("1", 0.1)])
def test_a_tenth_is_doubted_where_machines_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, doubted: float
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CI", ci)
    found = user_cache("code", (), tmp_path / "project" / FOLDER)
    assert found is not None
    assert found.recheck_fraction == doubted


def test_there_is_none_without_a_secret_or_where_something_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert user_cache(package_digest(), ("numpy",), tmp_path / "project" / FOLDER) is not None
    assert user_cache(None, ("numpy",), tmp_path / "project" / FOLDER) is None
    monkeypatch.setattr(module, "trusted_key", lambda folder: None)
    assert user_cache(package_digest(), ("numpy",), tmp_path / "project" / FOLDER) is None
