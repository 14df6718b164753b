"""Tracebacks that read source lines of absolute paths only.

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
    """Return the text of a traceback and its causes, `limit` frames each."""
    with _absolute_sources(frame for one in _with_causes(error) for frame, _ in traceback.walk_tb(one.__traceback__)):
        return "".join(traceback.format_exception(error, limit=None if limit is None else -limit))


def frames_of(error: BaseException) -> traceback.StackSummary:
    """Return the frames of an exception with their lines, outermost first."""
    with _absolute_sources(frame for frame, _ in traceback.walk_tb(error.__traceback__)):
        return traceback.extract_tb(error.__traceback__)


def source_line(frame: FrameType, number: int) -> str:
    """Return a source line of a frame's file; empty if unknown."""
    with _absolute_sources([frame]):
        return linecache.getline(frame.f_code.co_filename, number, frame.f_globals)


@contextmanager
def _absolute_sources(frames: Iterable[FrameType]) -> Iterator[None]:
    """Keep `linecache` from reading relative paths it does not know already."""
    files = {frame.f_code.co_filename for frame in frames}
    hidden = {file for file in files if not os.path.isabs(file) and len(linecache.cache.get(file, ())) < 2}
    linecache.cache.update({file: (0, None, [], file) for file in hidden})
    try:
        yield
    finally:
        for file in hidden:
            linecache.cache.pop(file, None)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, its causes, and the members of groups among them."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inside = getattr(one, "exceptions", ()) if issubclass(type(one), BaseExceptionGroup) else ()
        todo += [other for other in (one.__cause__, one.__context__, *inside) if other is not None]
