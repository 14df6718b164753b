"""Capture of file descriptor 1, to which a kernel's `printf` writes."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from gradcheck.engines.tensor_class.user_code_guard import LIMIT, Output

_STDOUT = 1


@contextmanager
def capture_stdout(output: Output) -> Iterator[None]:
    """Write Python's and C's output to `output` during the block."""
    with output.capturing():
        _flush()
        try:
            known, file = os.dup(_STDOUT), _file(os.getpid())
        except OSError:  # there is no stdout
            yield
            return
        start = os.lseek(file, 0, os.SEEK_CUR)
        try:
            os.dup2(file, _STDOUT)
            yield
        finally:
            _flush()
            os.dup2(known, _STDOUT)
            os.close(known)
            _take(file, start, output)


def _take(file: int, start: int, output: Output) -> None:
    """Move the text after `start` from the file to the output."""
    if os.lseek(file, 0, os.SEEK_CUR) > start:
        output.write(os.pread(file, LIMIT, start).decode(errors="replace"))
        os.ftruncate(file, start)
        os.lseek(file, start, os.SEEK_SET)


@cache
def _file(process: int) -> int:
    """Return an unlinked temporary file of this process."""
    file, path = tempfile.mkstemp()
    with suppress(OSError):
        os.unlink(path)
    return file


@cache
def _c_library() -> Any:
    with suppress(OSError):
        return ctypes.CDLL(None)
    return None


def _flush() -> None:
    with suppress(OSError, ValueError, AttributeError):
        assert sys.__stdout__ is not None
        sys.__stdout__.flush()
    if _c_library() is not None:
        _c_library().fflush(None)
