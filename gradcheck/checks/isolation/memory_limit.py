"""Limit the memory that engines and checks of a run take together.

On Linux the system enforces the limit (RLIMIT_DATA): NumPy, torch and Python raise where they exceed it, the case is
out of memory, and other cases still run. Elsewhere only each tensor is limited (see `language.evaluation.budget`).
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

#: The default limit, as a part of the machine's memory, and the least for one of several processes.
_SHARE, _LEAST = 0.5, 2**30
_UNITS = {"k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)
#: More bytes than any machine has, but a valid limit: it means none.
_MOST = 2**60
#: Matrices of this size make NumPy's BLAS allocate its buffers. If that fails later, BLAS ends the process.
_BLAS = 128
#: The options of glibc's `mallopt`, from malloc.h, and their values.
_M_MXFAST, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = 1, -1, -3
_KEPT = 256 * 1024**2
#: The limits outside those in force, the user's own first. They are the process's, as RLIMIT_DATA is.
_outer_limits: list[int] = []


def parse_size(text: str) -> int:
    """Return bytes of `2GB` or `2GiB` (also `2G`). Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r:.60} is no size, such as 2GB or 500MB")
    number, unit, binary, byte = found.groups()
    base = 1000 if byte and not binary else 1024
    return int(min(float(number) * base ** _UNITS.get(unit.lower(), 0), _MOST))


def keep_heap() -> bool:
    """Keep up to 256 MiB of freed memory; return whether glibc accepts that.

    At first glibc maps every array above 128 kB anew, and always those above 32 MiB. The system must clear their
    pages, which takes longer than computing middle-sized tensors. Small blocks join free neighbours at once, not all
    when an array needs room, which thousands of small graphs notice."""
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
def default_memory_limit(processes: int = 1) -> int | None:
    """Return the default limit of each process in bytes; None if unknown."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(file).read_text()))
        except (OSError, ValueError):
            continue
    whole = int(total * _SHARE)
    return max(whole // processes, min(whole, _LEAST))


@contextmanager
def memory_limit(size: int | None) -> Iterator[None]:
    """Limit memory to `size` more bytes; None: half of the machine's."""
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
    """Exclude what the block allocates, a late library, from the limit."""
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
        soft, *_outer_limits[1:] = (  # never above the user's
            size if size == resource.RLIM_INFINITY else min([size + more, *known])
            for size in (soft, *_outer_limits[1:])
        )
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@cache
def _allocate_blas_buffers() -> None:
    np.ones((_BLAS, _BLAS)) @ np.ones((_BLAS, _BLAS))


def _used_bytes() -> int | None:
    """Return the private bytes that the limit counts; None without a limit."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = re.search(r"^VmData:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
