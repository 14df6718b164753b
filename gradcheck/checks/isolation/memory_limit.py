"""The memory that a run may take: all that its engines and checks hold at once, whoever asks for it.

The system itself refuses what goes beyond (RLIMIT_DATA, on Linux), so that NumPy, torch and Python raise in the middle
of whatever they do, the case is out of memory, and the others still run. Elsewhere nothing is limited but each tensor
(see `language.evaluation.budget`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

#: What a run may take of the machine's memory, unless it is told.
_SHARE = 0.5
_UNITS = {"k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)
#: More bytes than any machine has, and few enough for the system to count: so large a limit is none.
_MOST = 2**60
#: Matrices of this size make NumPy's BLAS take its buffers, which it must not find refused: it would end the process.
_BLAS = 128
#: The options of glibc's `mallopt`, from its malloc.h, and what they are set to.
_M_MXFAST, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = 1, -1, -3
_KEPT = 256 * 1024**2
#: The limits that were there before those that are in force, the outermost first, which is the user's own.
_outer_limits: list[int] = []


def parse_size(text: str) -> int:
    """Bytes: `2GB` and `500 MB` by thousands, `2GiB` and `2G` by 1024. Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r:.60} is no size, such as 2GB or 500MB")
    number, unit, binary, byte = found.groups()
    base = 1000 if byte and not binary else 1024
    return int(min(float(number) * base ** _UNITS.get(unit.lower(), 0), _MOST))


def keep_heap() -> bool:
    """Let freed memory stay with the process, up to 256 MiB; whether that could be said. Only glibc can be told.

    It maps every array above 128 kB anew, at first, and every one above 32 MiB for good, whose pages the system has to
    clear: for middle-sized tensors that takes longer than to compute them. What is small joins its free neighbours at
    once, rather than all of it whenever an array needs room, which thousands of small graphs notice.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    settings = {_M_TRIM_THRESHOLD: _KEPT, _M_MMAP_THRESHOLD: _KEPT, _M_MXFAST: 0}
    answers = [mallopt(option, value) for option, value in settings.items()]
    return set(answers) == {1}


@cache
def default_memory_limit() -> int | None:
    """In bytes, of what this process may use at all; None where that is not known."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(file).read_text()))
        except (OSError, ValueError):
            continue
    return int(total * _SHARE)


@contextmanager
def memory_limit(size: int | None) -> Iterator[None]:
    """No more than `size` bytes on top of what this process has now; by default half of the machine's memory."""
    held, wanted = _used_bytes(), default_memory_limit() if size is None else min(size, _MOST)
    if held is None or wanted is None:
        yield
        return
    import resource

    _allocate_blas_buffers()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = [limit for limit in (held + wanted, soft, hard) if limit != resource.RLIM_INFINITY]
    _outer_limits.append(soft)
    resource.setrlimit(resource.RLIMIT_DATA, (min(allowed), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (_outer_limits.pop(), hard))


@contextmanager
def pause_memory_limit() -> Iterator[None]:
    """Let what is taken meanwhile, and kept, be no part of what a limit allows: a library that is loaded late."""
    held = _used_bytes()
    if held is None or not _outer_limits:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    own = _outer_limits[0]
    resource.setrlimit(resource.RLIMIT_DATA, (own, hard))
    try:
        yield
    finally:
        more = max((_used_bytes() or held) - held, 0)
        known = [size for size in (own, hard) if size != resource.RLIM_INFINITY]
        soft, *_outer_limits[1:] = (  # none of which is above the user's
            size if size == resource.RLIM_INFINITY else min([size + more, *known])
            for size in (soft, *_outer_limits[1:])
        )
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@cache
def _allocate_blas_buffers() -> None:
    """Once in a process."""
    np.ones((_BLAS, _BLAS)) @ np.ones((_BLAS, _BLAS))


def _used_bytes() -> int | None:
    """What this process has of private memory, in bytes, as the limit counts it; None where there is no such limit."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = re.search(r"^VmData:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
