"""The cache of a run: whose it is, what its keys hold besides what is asked, and what may be kept in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from gradcheck.cache.signed_store import Entries
from gradcheck.cache.cache_folder import FOLDER
from gradcheck.cache.signing_key import refusal, secret
from gradcheck.cache.environment_digest import Surroundings


class Cache:
    """Bytes by what they were found from. So large a part of what is known as `doubted` says is to be found afresh all
    the same, by whoever asks, and compared."""

    def __init__(self, entries: Entries, surroundings: Surroundings, doubted: float = 0.0) -> None:
        self.doubted, self._entries, self._surroundings = doubted, entries, surroundings
        self._digest = surroundings.digest

    def covers(self, libraries: Iterable[str]) -> bool:
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

    def have(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those of these keys under which something was kept, whatever it may be."""
        return self._entries.have(keys)

    def keep(self, new: Mapping[bytes, bytes], used: Iterable[bytes] = ()) -> None:
        """What was found, unless files have changed since this process began: it may have come of either. What else was
        `used` stays longer."""
        if new and self._surroundings.hold():
            self._entries.write(new, used)


def cache_of(code: str | None, libraries: Iterable[str] | None, folder: Path = FOLDER) -> Cache | None:
    """The user's, in a folder; None where nothing may be kept. `code` is `surroundings.code()` at the very beginning.

    Where a machine tests what people send (`CI` is set), a tenth is doubted.
    """
    surroundings = None if libraries is None else Surroundings.of(code, libraries)
    signed = secret() if surroundings is not None and not refusal(folder) else None
    if surroundings is None or signed is None:
        return None
    doubted = 0.0 if os.environ.get("CI", "").lower() in ("", "0", "false") else 0.1
    return Cache(Entries(folder, signed), surroundings, doubted)
