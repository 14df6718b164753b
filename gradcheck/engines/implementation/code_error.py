"""Exceptions of user code, with the traceback through the user's files."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gradcheck.engines.folder_finder import is_installed_file
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, error_line
from gradcheck.errors import GradcheckError, TensorError
from gradcheck.tracebacks import frames_of

#: Files whose frames are removed.
_OURS = str(Path(__file__).parents[2])


class CodeError(TensorError):
    """An exception of user code, with its traceback."""

    kind = "code_raised"

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def _is_foreign(file: str) -> bool:
    return file.startswith((_OURS, "<frozen")) or is_installed_file(file)


def as_code_error(what: str, error: BaseException) -> CodeError:
    """Return the exception as a CodeError that names the code and the line."""
    own = [frame for frame in frames_of(error) if not _is_foreign(frame.filename)]
    lines = [*traceback.format_list(own), *traceback.format_exception_only(error)]
    where = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return CodeError(f"{what} raised {error_line(error)}{where}", "".join(lines).rstrip())


@contextmanager
def translate_code_errors(what: str) -> Iterator[None]:
    """Raise exceptions of user code in the block as CodeError."""
    try:
        yield
    except (GradcheckError, MemoryError):
        raise
    except USER_EXCEPTIONS as error:
        raise as_code_error(what, error) from None
