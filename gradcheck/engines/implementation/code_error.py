"""Exceptions of user code, with the traceback through the user's files."""

from __future__ import annotations

import traceback
from pathlib import Path

from gradcheck.engines.tensor_class.user_code_guard import error_line
from gradcheck.engines.user_modules import is_installed_file
from gradcheck.errors import TensorError

#: Files whose frames are removed.
_OURS = str(Path(__file__).parents[2])


class CodeError(TensorError):
    """An exception of user code, with its traceback."""

    kind = "code_raised"

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def as_code_error(what: str, error: BaseException) -> CodeError:
    """Return the exception as a CodeError that names the code and the line."""
    own = _own_frames(error)
    lines = [*traceback.format_list(own), *traceback.format_exception_only(error)]
    where = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return CodeError(f"{what} raised {error_line(error)}{where}", "".join(lines).rstrip())


def _own_frames(error: BaseException) -> traceback.StackSummary:
    frames = traceback.extract_tb(error.__traceback__)
    return traceback.StackSummary.from_list(
        [one for one in frames if not (one.filename.startswith((_OURS, "<frozen")) or is_installed_file(one.filename))]
    )
