"""Keys hold all that an answer depends on, and nothing is kept that may have come of two states of a file."""

from __future__ import annotations

import os
import resource
import sqlite3
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gradcheck.cache import cache as module
from gradcheck.cache.cache import Cache, SignedStore, user_cache
from gradcheck.cache.cache_folder import FOLDER
from gradcheck.cache.environment_digest import EnvironmentDigest, package_digest
from gradcheck.checks.isolation.time_limit import deadline

SECRET = bytes(range(32))
NEW = {b"one": b"first", b"two": b"second" * 100}


@pytest.fixture
def entries(tmp_path: Path) -> SignedStore:
    return SignedStore(tmp_path / "cache", SECRET)


def everything(entries: SignedStore) -> dict[bytes, bytes]:
    with sqlite3.connect(entries.file) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM entries")]
    connection.close()
    return entries.read(keys)


def test_what_was_written_is_read(entries: SignedStore) -> None:
    assert entries.read(NEW) == {}
    entries.write(NEW)
    assert entries.read([*NEW, b"three"]) == NEW
    entries.write({b"one": b"now", b"three": b""})
    assert entries.read([*NEW, b"three"]) == {**NEW, b"one": b"now", b"three": b""}
    assert (entries.file.parent / ".gitignore").is_file()


def test_without_the_secret_nobody_makes_an_entry(entries: SignedStore, tmp_path: Path) -> None:
    """What comes with somebody's cases is not looked for, and were it, not believed."""
    other = SignedStore(tmp_path / "cache", bytes(32))
    other.write(NEW)
    assert entries.read(NEW) == {}
    os.rename(other.file, entries.file)
    assert everything(entries) == {}


@pytest.mark.parametrize(
    "change", ["value = substr(value, 1, 18)", "value = zeroblob(40)", "value = 'text'", "value = 3"]
)
def test_an_entry_that_was_changed_is_not_there(entries: SignedStore, change: str) -> None:
    entries.write(NEW)
    with sqlite3.connect(entries.file) as connection:
        connection.execute(f"UPDATE entries SET {change} WHERE key = ?", (b"one",))
    connection.close()
    assert entries.read(NEW) == {b"two": NEW[b"two"]}
    entries.write({b"one": b"again"})
    assert entries.read(NEW) == {**NEW, b"one": b"again"}


def test_an_entry_under_the_key_of_another_is_not_there(entries: SignedStore) -> None:
    entries.write(NEW)
    with sqlite3.connect(entries.file) as connection:
        connection.execute("UPDATE entries SET value = (SELECT value FROM entries WHERE key = ?)", (b"one",))
    connection.close()
    assert entries.read(NEW) == {b"one": b"first"}


@pytest.mark.parametrize("spoil", [b"no database at all" * 100, b"", b"SQLite format 3\0" + bytes(4080)])
def test_a_broken_file_is_begun_anew(entries: SignedStore, spoil: bytes) -> None:
    entries.write(NEW)
    entries.file.write_bytes(spoil)
    entries.read(NEW)
    entries.write(NEW)
    entries.write(NEW)
    assert entries.read(NEW) == NEW


def test_bytes_that_are_spoilt_anywhere_cost_no_more_than_entries(entries: SignedStore) -> None:
    many = {str(number).encode(): os.urandom(500) for number in range(40)}
    entries.write(many)
    whole = entries.file.read_bytes()
    for at in range(0, len(whole), 1499):
        entries.file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        assert all(many[key] == value for key, value in entries.read(many).items())
    entries.file.write_bytes(whole[: len(whole) // 2])
    assert all(many[key] == value for key, value in entries.read(many).items())


def test_there_is_an_end_to_its_size_and_the_oldest_go_first(tmp_path: Path) -> None:
    entries = SignedStore(tmp_path, SECRET, most=200_000)
    batches = [{f"{batch} {one}".encode(): os.urandom(2_000) for one in range(10)} for batch in range(20)]
    for number, batch in enumerate(batches):
        entries.write(batch, used=batches[0] if number else ())
    assert entries.file.stat().st_size < 300_000
    kept = everything(entries)
    assert set(batches[0]) | set(batches[-1]) | set(batches[-2]) <= set(kept)
    assert not set(batches[1]) & set(kept)


def test_files_of_others_stay(tmp_path: Path) -> None:
    others = [tmp_path / "results-mine.sqlite", *(tmp_path / f"results-{number:016x}.sqlite" for number in range(3))]
    for other in others:
        other.write_bytes(b"something of somebody else")
    entries = SignedStore(tmp_path, SECRET)
    entries.write(NEW)
    assert all(other.read_bytes() == b"something of somebody else" for other in others)
    assert entries.read(NEW) == NEW


@pytest.mark.parametrize("at", ["the file", "the folder"])
@pytest.mark.parametrize("leads_to", ["a file", "a database", "nothing"])
def test_no_link_is_followed(entries: SignedStore, tmp_path: Path, at: str, leads_to: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / entries.file.name
    if leads_to == "a database":
        other = SignedStore(target.parent, SECRET)
        other.write({b"one": b"of another"})
    elif leads_to == "a file":
        target.write_text("precious")
    before = target.read_bytes() if target.exists() else None
    if at == "the folder":
        entries.file.parent.symlink_to(target.parent)
    else:
        entries.file.parent.mkdir()
        entries.file.symlink_to(target)
    entries.write(NEW)
    assert entries.read(NEW) == {}
    assert entries.present_keys(NEW) == []
    assert (target.read_bytes() if target.exists() else None) == before


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_nothing_is_followed_or_waited_for_beside_the_file(
    entries: SignedStore, tmp_path: Path, end: str, kind: str
) -> None:
    entries.write(NEW)
    beside = entries.file.with_name(entries.file.name + end)
    if kind == "pipe":
        os.mkfifo(beside)
    else:
        beside.symlink_to(tmp_path / "elsewhere")
    with deadline(10):
        entries.write({b"three": b"3"})
        assert entries.read(NEW) == {}
    assert not (tmp_path / "elsewhere").exists()
    beside.unlink()
    assert entries.read(NEW) == NEW


def test_a_file_under_a_second_name_is_not_used(entries: SignedStore, tmp_path: Path) -> None:
    entries.write(NEW)
    os.link(entries.file, tmp_path / "second")
    before = entries.file.read_bytes()
    entries.write({b"three": b"3"})
    assert entries.read(NEW) == {}
    assert entries.file.read_bytes() == before


def test_what_is_much_too_large_is_not_kept(tmp_path: Path) -> None:
    entries = SignedStore(tmp_path, SECRET, most=200_000)
    entries.write({b"large": bytes(20_000), **NEW})
    assert entries.read([b"large", *NEW]) == NEW


def test_where_no_folder_can_be_made_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    entries = SignedStore(tmp_path / "cache", SECRET)
    entries.write(NEW)
    assert entries.read(NEW) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_to_be_written_is_read(entries: SignedStore) -> None:
    entries.write(NEW)
    entries.file.chmod(0o400)
    entries.file.parent.chmod(0o500)
    entries.write({b"three": b"3"})
    assert entries.read([*NEW, b"three"]) == NEW
    entries.file.parent.chmod(0o700)


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """As a full disk is."""
    known = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, known[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, known)


def test_a_full_disk_costs_what_is_new_alone(entries: SignedStore) -> None:
    entries.write(NEW)
    many = {str(number).encode(): os.urandom(500) for number in range(400)}
    with no_file_larger_than(60_000):
        entries.write(many)
        assert entries.read(NEW) == NEW
    assert entries.read([*many, *NEW]) == NEW
    with no_file_larger_than(0):
        SignedStore(entries.file.parent, bytes(32)).write(NEW)
    entries.write(many)
    assert entries.read(many) == many


def test_several_may_write_at_once(entries: SignedStore) -> None:
    batches = [{f"{batch} {one}".encode(): os.urandom(100) for one in range(50)} for batch in range(8)]
    threads = [threading.Thread(target=entries.write, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(entries.read(batch) == batch for batch in batches)


def test_who_is_killed_while_writing_costs_no_more_than_entries(entries: SignedStore) -> None:
    entries.write(NEW)
    child = os.fork()
    if not child:
        with entries._open() as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA cache_size = 1")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM entries")
            connection.executemany("INSERT INTO entries VALUES (?, ?, 1)", [(os.urandom(8), bytes(50_000))] * 1)
            os._exit(0)
    os.waitpid(child, 0)
    assert entries.read(NEW).items() <= NEW.items()
    entries.write({b"three": b"3"})  # removes a file that is not whole
    entries.write({b"three": b"3"})
    assert entries.read([b"three"]) == {b"three": b"3"}


def test_a_journal_deletes_no_file(entries: SignedStore, tmp_path: Path) -> None:
    """SQLite deletes the file that the end of a journal names, once it has played the journal back."""
    entries.write(NEW)
    precious = tmp_path / "precious"
    precious.write_text("of the user")
    magic, name = bytes.fromhex("d9d505f920a163d7"), bytes(precious)
    pages = entries.file.stat().st_size // 4096
    begin = magic + struct.pack(">IIIII", 0, 0, pages, 512, 4096)
    end = struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    journal = entries.file.with_name(f"{entries.file.name}-journal")
    journal.write_bytes(begin.ljust(512, b"\0") + end)
    assert entries.read(NEW) == NEW
    assert precious.exists()
    assert not journal.exists()


_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
_ENTRIES = "CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB, used INTEGER)"


@pytest.mark.parametrize(
    "statements",
    [
        [f"CREATE VIEW entries AS {_ENDLESS} CAST(i AS BLOB) AS key, i AS value, i AS used FROM n"],
        [
            _ENTRIES,
            "CREATE TABLE others (i)",
            "CREATE TRIGGER t BEFORE INSERT ON entries BEGIN"
            f" INSERT INTO others SELECT 1 FROM ({_ENDLESS} i FROM n); END",
        ],
        ["CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB AS (zeroblob(9)), used INTEGER)"],
    ],
    ids=["view", "trigger", "generated"],
)
def test_a_file_with_a_program_in_it_is_removed(entries: SignedStore, statements: list[str]) -> None:
    entries.write(NEW)
    entries.file.unlink()
    with sqlite3.connect(entries.file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    with deadline(20):
        assert entries.read(NEW) == {}
        entries.write(NEW)
        assert entries.read(NEW) == NEW


def test_what_takes_too_long_is_ended(entries: SignedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_COUNTS", 20)
    with deadline(20), entries._ending_errors(), entries._open() as connection:
        connection.execute(f"{_ENDLESS} count(i) FROM n").fetchone()


def test_a_folder_whose_name_sqlite_does_not_take_has_no_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite takes no more than 512 bytes, and systems take 4,096."""
    for part in ("a" * 200, "b" * 200, "c" * 200):
        (tmp_path / part).mkdir()
        monkeypatch.chdir(tmp_path := tmp_path / part)
    entries = SignedStore(Path("cache"), SECRET)
    entries.write(NEW)
    assert entries.read(NEW) == {}
    assert entries.present_keys(NEW) == []


HERE = EnvironmentDigest("code", {"numpy": "2.0"}, "others")


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
