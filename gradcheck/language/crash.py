"""A crash of gradcheck over one case file, as an error of that file."""

from __future__ import annotations

import gc
import os

from gradcheck.errors import InvalidCase, Place

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MAX_FRAMES = 20


class Crash(InvalidCase):
    """An unexpected exception; `details` is its traceback."""

    kind = "crash"
    details = ""


def crash_at(error: Exception, place: Place, doing: str = "reading this case") -> Crash:
    """Return the error of a crash at this place, while `doing` something."""
    if isinstance(error, MemoryError):
        gc.collect()
        found = Crash(f"ran out of memory while {doing}", place=place, hint="make its tensors smaller")
        found.kind = "memory"
        return found
    from gradcheck.tracebacks import format_traceback  # here, since few files crash

    said = " ".join(str(error).split())[:200]
    message = f"gradcheck crashed while {doing}: {type(error).__name__}{': ' * bool(said)}{said} ({_innermost(error)})"
    found = Crash(message, place=place, hint="this is a bug in gradcheck: please report it, with the file")
    found.details = format_traceback(error, _MAX_FRAMES)
    return found


def _innermost(error: Exception) -> str:
    """Return the innermost place in gradcheck's code as FILE:LINE."""
    file, line, found = "?", 0, error.__traceback__
    while found is not None:
        here = found.tb_frame.f_code.co_filename
        if here.startswith(_PACKAGE + os.sep):
            file, line = here, found.tb_lineno
        found = found.tb_next
    return f"{file.removeprefix(os.path.dirname(_PACKAGE) + os.sep)}:{line}".replace(os.sep, "/")
