"""Where text goes: stdout or files, with colour or without, and quietly when a pipe's reader has left."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import IO

from gradcheck.errors import UsageError

WIDTH = 80


def wants_color(choice: str, stream: IO[str] | None) -> bool:
    """`--color`, else NO_COLOR (https://no-color.org), FORCE_COLOR, TERM, and whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0", "false"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def width() -> int:
    """The terminal's columns; COLUMNS overrides, and a log file has 80."""
    return max(40, shutil.get_terminal_size((WIDTH, 24)).columns)


def write_stdout(text: str) -> None:
    """All of the text. A reader that has left (`| head`) is no error."""
    stream = sys.stdout
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        raise UsageError(f"cannot write to the standard output: {error.strerror}") from error


def write_stderr(line: str) -> None:
    """A line for people, if there is anywhere to write it."""
    stream = sys.stderr
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    with contextlib.suppress(OSError):  # nobody is left to be told
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()


def silence_stdout() -> None:
    """Let what is still buffered go nowhere when Python closes the stream at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_file(path: Path) -> None:
    """Make the folders above; refuse before any work is done what could not be written after it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}", hint="name another file") from error
    if path.is_dir():
        raise UsageError(f"cannot write '{path}': it is a folder", hint="name a file in it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"cannot write '{path}': permission denied", hint="name another file")


def write_file(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error
