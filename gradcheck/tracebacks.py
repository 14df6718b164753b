"""Tracebacks whose lines of source come from files with an absolute path alone.

Compiled code names its source by a relative path, such as `numpy/random/_generator.pyx`, which Python looks for in the
working directory: there it could be a named pipe, for whose writer Python would wait.
"""

from __future__ import annotations

import linecache
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType


def format_traceback(error: BaseException, limit: int | None = None) -> str:
    """Return the traceback as Python shows it, with the causes; of each, the last `limit` frames."""
    with _absolute_sources(frame for one in _with_causes(error) for frame, _ in traceback.walk_tb(one.__traceback__)):
        return "".join(traceback.format_exception(error, limit=None if limit is None else -limit))


def frames_of(error: BaseException) -> traceback.StackSummary:
    """Return the frames that an exception has passed through, the outermost first, with their lines."""
    with _absolute_sources(frame for frame, _ in traceback.walk_tb(error.__traceback__)):
        return traceback.extract_tb(error.__traceback__)


def source_line(frame: FrameType, number: int) -> str:
    """Return a line of the file that a frame's code is from; nothing where that is not known."""
    with _absolute_sources([frame]):
        return linecache.getline(frame.f_code.co_filename, number, frame.f_globals)


@contextmanager
def _absolute_sources(frames: Iterable[FrameType]) -> Iterator[None]:
    """Have Python know no lines of files with a relative path, unless it knows some already, as of a notebook's."""
    files = {frame.f_code.co_filename for frame in frames}
    hidden = {file for file in files if not os.path.isabs(file) and len(linecache.cache.get(file, ())) < 2}
    linecache.cache.update({file: (0, None, [], file) for file in hidden})
    try:
        yield
    finally:
        for file in hidden:
            linecache.cache.pop(file, None)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, those that it came of, and those that any of them is a group of."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inside = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        todo += [other for other in (one.__cause__, one.__context__, *inside) if other is not None]
