"""A crash of gradcheck itself over one case file, as an error of that file: the other files are still read."""

from __future__ import annotations

import gc
import os

from gradcheck.errors import InvalidCase, Place

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: How much of a traceback is kept, from its end.
_FRAMES = 20


class Crash(InvalidCase):
    """An exception that nobody foresaw. `details` is its traceback."""

    kind = "crash"
    details = ""


def crash_at(error: Exception, place: Place, doing: str = "reading this case") -> Crash:
    """Return the error for a file that gradcheck crashed on at this place, while `doing` something with it."""
    if isinstance(error, MemoryError):
        gc.collect()
        found = Crash(f"ran out of memory while {doing}", place=place, hint="make its tensors smaller")
        found.kind = "memory"
        return found
    import traceback  # here, since few files crash

    said = " ".join(str(error).split())[:200]
    message = f"gradcheck crashed while {doing}: {type(error).__name__}{': ' * bool(said)}{said} ({_innermost(error)})"
    found = Crash(message, place=place, hint="this is a bug in gradcheck: please report it, with the file")
    found.details = "".join(traceback.format_exception(error, limit=-_FRAMES))
    return found


def _innermost(error: Exception) -> str:
    """Return the place in gradcheck's own code at which the exception was raised, as FILE:LINE."""
    file, line, found = "?", 0, error.__traceback__
    while found is not None:
        here = found.tb_frame.f_code.co_filename
        if here.startswith(_PACKAGE + os.sep):
            file, line = here, found.tb_lineno
        found = found.tb_next
    return f"{file.removeprefix(os.path.dirname(_PACKAGE) + os.sep)}:{line}".replace(os.sep, "/")
