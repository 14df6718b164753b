"""What somebody's engine prints while it works: kept, and shown only if something is wrong."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

#: Characters kept; what an endless loop prints beyond them is lost.
LIMIT = 10_000


class Output(io.TextIOBase):
    """A stream that keeps its beginning."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._room = LIMIT

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._room > 0:
            self._parts.append(text[: self._room])
            self._room -= len(text)
            if self._room <= 0:
                self._parts.append("\n…\n")
        return len(text)

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Whatever Python writes to stdout and stderr inside comes here."""
        with redirect_stdout(self), redirect_stderr(self):
            yield

    def take(self) -> str:
        """All that has come since the last time."""
        text = "".join(self._parts)
        self._parts.clear()
        self._room = LIMIT
        return text
