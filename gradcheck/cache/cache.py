"""The cache of a run: its owner, the digest in its keys, and its entries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from gradcheck.cache.cache_folder import FOLDER
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.cache.signed_store import SignedStore
from gradcheck.cache.signing_key import trusted_key


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
