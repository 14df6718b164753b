"""The cache of a run: signed bytes by key in a file, and its digest."""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck.cache.cache_folder import FOLDER, open_cache
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.cache.signing_key import trusted_key
from gradcheck.safe_files import Folder

if TYPE_CHECKING:
    import sqlite3

#: The most bytes of the file by default, and the share of an entry.
MAX_BYTES, MAX_ENTRY_SHARE = 64 * 2**20, 1 / 16
#: The version of the file's format.
_FORMAT = 1
_SIGNED = 16
#: Seconds to wait for another run's write.
_PATIENCE = 2.0
#: The steps of SQLite's machine between two counts, and the most counts of one use, about 30 s: a file made on purpose
#: can keep SQLite busy for ever.
_STEPS, _MOST_COUNTS = 100_000, 20_000
_TABLES = (
    "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB, used INTEGER)",
    "CREATE INDEX IF NOT EXISTS by_use ON entries (used)",
)
#: The schema of an own file, as SQLite stores it. A view or a trigger would be a foreign program.
_SCHEMA = frozenset(statement.replace(" IF NOT EXISTS", "") for statement in _TABLES)


#: The suffixes of files that SQLite opens beside its own. An own file has none: its journal is in memory.
_BESIDE = ("-journal", "-wal", "-shm")


class SignedStore:
    """Entries that are signed with a secret; others count as absent.

    The file of another secret is neither read nor removed. No connection outlives a call, so that processes can be
    forked.
    """

    def __init__(self, folder: Path, secret: bytes, most: int = MAX_BYTES) -> None:
        name = blake2b(f"entries {_FORMAT}".encode(), key=secret, digest_size=8).hexdigest()
        self.file, self._secret, self._most = folder / f"results-{name}.sqlite", secret, most
        self._most_of_entry = int(most * MAX_ENTRY_SHARE)

    def read(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the entries under these keys."""
        found: dict[bytes, bytes] = {}
        if not self._is_own_file():
            return found
        asked = "SELECT value FROM entries WHERE key = ? AND length(value) <= ?"
        with self._ending_errors(), self._open() as connection:
            connection.execute("BEGIN")
            for key in keys:
                row = connection.execute(asked, (key, self._most_of_entry + _SIGNED)).fetchone()
                value = None if row is None else self._verify(key, row[0])
                if value is not None:
                    found[key] = value
        return found

    def present_keys(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return the keys that have an entry, without verifying it."""
        found: list[bytes] = []
        if self._is_own_file():
            with self._ending_errors(), self._open() as connection:
                connection.execute("BEGIN")
                asked = "SELECT 1 FROM entries WHERE key = ?"
                found += [key for key in keys if connection.execute(asked, (key,)).fetchone()]
        return found

    def write(self, new: Mapping[bytes, bytes], used: Iterable[bytes] = ()) -> None:
        """Write all new entries, or none; mark the `used` ones as recent."""
        rows = [(key, self._sign(key, value)) for key, value in new.items() if len(value) <= self._most_of_entry]
        if not self._is_own_file(create=True):
            return
        with suppress(OSError), self._ending_errors(), self._open() as connection:
            connection.execute("PRAGMA synchronous = OFF")  # losses after a crash are detected
            connection.execute("PRAGMA journal_mode = MEMORY")  # as are those of a process that is killed
            connection.execute("BEGIN IMMEDIATE")
            for statement in _TABLES:
                connection.execute(statement)
            ((now,),) = connection.execute("SELECT coalesce(max(used), 0) + 1 FROM entries")
            connection.executemany("UPDATE entries SET used = ? WHERE key = ?", [(now, key) for key in used])
            connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", [(*r, now) for r in rows])
            self._trim(connection)
            connection.execute("COMMIT")

    def _is_own_file(self, create: bool = False) -> bool:
        """Return whether the file is regular, without a second name or a journal.

        SQLite follows links and waits for pipes, so it is given no name at which, or beside which, another kind of
        entry stands. A journal can name any file, which SQLite deletes once the journal is played back.
        """
        try:
            with open_cache(self.file.parent, create=create) as folder:
                if create and folder.entry_stat(self.file.name) is None:
                    with suppress(FileExistsError):  # by another run, at the same moment
                        folder.create(self.file.name, b"")
                known = folder.entry_stat(self.file.name)
                is_alone = all(_is_free(folder, self.file.name + end) for end in _BESIDE)
        except OSError:
            return False
        return is_alone and known is not None and stat.S_ISREG(known.st_mode) and known.st_nlink == 1

    def _trim(self, connection: sqlite3.Connection) -> None:
        """Drop an eighth of the entries at a time, while the file is too large."""
        while self._size(connection) > self._most:
            ((rows,),) = connection.execute("SELECT count(used) FROM entries")  # count(*) is one step
            if not rows:
                return
            oldest = "SELECT key FROM entries ORDER BY used, rowid LIMIT ?"
            connection.execute(f"DELETE FROM entries WHERE key IN ({oldest})", (max(1, rows // 8),))

    def _size(self, connection: sqlite3.Connection) -> int:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    @contextmanager
    def _ending_errors(self) -> Iterator[None]:
        """End errors of SQLite inside; remove a foreign or broken file."""
        import sqlite3  # here, since only a cache needs it

        try:
            yield
        except sqlite3.Error as error:
            if type(error) is sqlite3.DatabaseError:  # not for a full disk, a foreign folder, or another run
                with suppress(OSError):
                    self.file.unlink()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Raises sqlite3.Error, DatabaseError for a file that was not made here."""
        import sqlite3

        counted = count()
        with closing(sqlite3.connect(self.file, timeout=_PATIENCE, isolation_level=None)) as connection:
            connection.set_progress_handler(lambda: next(counted) >= _MOST_COUNTS, _STEPS)
            connection.execute("PRAGMA trusted_schema = OFF")
            made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            if not all(sql in _SCHEMA for (sql,) in made):
                raise sqlite3.DatabaseError("not made here")
            yield connection

    def _sign(self, key: bytes, value: bytes) -> bytes:
        return self._signature(key, value) + value

    def _verify(self, key: bytes, sealed: object) -> bytes | None:
        """Return the value; None unless its signature is valid."""
        if not isinstance(sealed, bytes):
            return None
        value = sealed[_SIGNED:]
        return value if hmac.compare_digest(sealed[:_SIGNED], self._signature(key, value)) else None

    def _signature(self, key: bytes, value: bytes) -> bytes:
        return blake2b(key + value, key=self._secret, digest_size=_SIGNED).digest()


def _is_free(folder: Folder, name: str) -> bool:
    """Return whether the name is free; remove a regular file of it."""
    known = folder.entry_stat(name)
    if known is not None and stat.S_ISREG(known.st_mode):
        folder.remove(name)
        return folder.entry_stat(name) is None
    return known is None


class Cache:
    """Bytes by key; callers recheck a share of the entries."""

    def __init__(self, entries: SignedStore, surroundings: EnvironmentDigest, doubted: float = 0.0) -> None:
        self.recheck_fraction, self._entries, self._surroundings = doubted, entries, surroundings
        self._digest = surroundings.digest

    def covers_libraries(self, libraries: Iterable[str]) -> bool:
        """Return whether keys depend on the installed versions of these."""
        return self._surroundings.libraries.keys() >= set(libraries)

    def key(self, *asked: bytes) -> bytes:
        """Return the key of a request; it covers the environment."""
        found = blake2b(self._digest, digest_size=24)
        for part in asked:
            found.update(len(part).to_bytes(8, "little") + part)
        return found.digest()

    def find(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the entries under these keys."""
        return self._entries.read(keys)

    def present_keys(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return those of these keys that have an entry."""
        return self._entries.present_keys(keys)

    def store(self, new: Mapping[bytes, bytes], used: Iterable[bytes] = ()) -> None:
        """Store new entries, unless files have changed; `used` ones stay longer."""
        if new and self._surroundings.is_unchanged():
            self._entries.write(new, used)


def user_cache(code: str | None, libraries: Iterable[str] | None, folder: Path = FOLDER) -> Cache | None:
    """Return the user's cache; None if nothing may be kept."""
    # in CI (`CI` is set), a tenth of the entries is rechecked
    surroundings = None if libraries is None else EnvironmentDigest.of(code, libraries)
    signed = trusted_key(folder) if surroundings is not None else None
    if surroundings is None or signed is None:
        return None
    doubted = 0.0 if os.environ.get("CI", "").lower() in ("", "0", "false") else 0.1
    return Cache(SignedStore(folder, signed), surroundings, doubted)
