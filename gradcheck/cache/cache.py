"""The cache of a run: whose it is, what its keys hold besides what is asked, and what may be kept in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from gradcheck.cache.cache_folder import FOLDER
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.cache.signed_store import SignedStore
from gradcheck.cache.signing_key import refusal, signing_key


class Cache:
    """Bytes by what they were found from. So large a part of what is known as `doubted` says is to be found afresh all
    the same, by whoever asks, and compared."""

    def __init__(self, entries: SignedStore, surroundings: EnvironmentDigest, doubted: float = 0.0) -> None:
        self.recheck_fraction, self._entries, self._surroundings = doubted, entries, surroundings
        self._digest = surroundings.digest

    def covers_libraries(self, libraries: Iterable[str]) -> bool:
        """Whether keys hold what is installed of these."""
        return self._surroundings.libraries.keys() >= set(libraries)

    def key(self, *asked: bytes) -> bytes:
        """Of what is asked, and of all else that the answer depends on."""
        found = blake2b(self._digest, digest_size=24)
        for part in asked:
            found.update(len(part).to_bytes(8, "little") + part)
        return found.digest()

    def find(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Those of these keys under which something was kept."""
        return self._entries.read(keys)

    def present_keys(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those of these keys under which something was kept, whatever it may be."""
        return self._entries.present_keys(keys)

    def store(self, new: Mapping[bytes, bytes], used: Iterable[bytes] = ()) -> None:
        """What was found, unless files have changed since this process began: it may have come of either. What else was
        `used` stays longer."""
        if new and self._surroundings.is_unchanged():
            self._entries.write(new, used)


def user_cache(code: str | None, libraries: Iterable[str] | None, folder: Path = FOLDER) -> Cache | None:
    """The user's, in a folder; None where nothing may be kept. `code` is `surroundings.code()` at the very beginning.

    Where a machine tests what people send (`CI` is set), a tenth is doubted.
    """
    surroundings = None if libraries is None else EnvironmentDigest.of(code, libraries)
    signed = signing_key() if surroundings is not None and not refusal(folder) else None
    if surroundings is None or signed is None:
        return None
    doubted = 0.0 if os.environ.get("CI", "").lower() in ("", "0", "false") else 0.1
    return Cache(SignedStore(folder, signed), surroundings, doubted)
