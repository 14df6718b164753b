"""Exceptions of user code as gradcheck's errors, and its printed output."""

from __future__ import annotations

import inspect
import io
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from gradcheck.engines.base import Evaluation
from gradcheck.engines.folder_finder import is_installed_file
from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.errors import GradcheckError, Place, TensorError, Unsupported, exception_text
from gradcheck.forks import end_fork
from gradcheck.language.case import Case, Step
from gradcheck.tracebacks import frames_of, source_line


class EngineError(TensorError):
    """An exception of an engine without typed errors; the case says its kind."""

    kind = "engine_error"


class EndlessRecursion(TensorError):
    """The engine recurses deeper than Python allows."""

    kind = "recursion"


#: Exceptions that are user code's own fault; the user's interrupt (`Interrupt`) or a timeout is not.
USER_EXCEPTIONS = (Exception, SystemExit, GeneratorExit, KeyboardInterrupt)
#: Exceptions that show a mistake in code; no engine rejects a call by them.
_SLIPS = (AttributeError, NameError, KeyError, ImportError)
#: Packages whose lines are no place of a mistake in a library.
_NOT_CHECKED = {"gradcheck", "numpy", "scipy", *sys.stdlib_module_names}
#: A line that raises, also behind its condition.
_RAISES = re.compile(r"(^|:\s*)raise\b")
#: The address of an object, as Python's `repr` prints it.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
#: The number of characters kept of an output.
LIMIT = 10_000


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Raise a library's exceptions as errors that name the call.

    They are Unsupported, EndlessRecursion and EngineError. MemoryError passes through; an interruption gets a note."""
    try:
        yield
    except (GradcheckError, MemoryError):
        raise
    except NotImplementedError as error:
        raise Unsupported(f"{what} is not implemented: {error_line(error)}", lacks=_unimplemented(error)) from error
    except RecursionError as error:
        raise _endless_recursion(what, error) from None
    except USER_EXCEPTIONS as error:
        raised = EngineError(f"{what} raised {error_line(error)}")
        raised.code = next((place for _, place in reversed(own_frames(error))), None)
        raise raised from error
    except BaseException as error:
        note_interruption(error, what)
        raise
    finally:
        end_fork()


def _endless_recursion(what: str, error: RecursionError) -> EndlessRecursion:
    """Return the error with the place of the function that calls itself."""
    found = EndlessRecursion(f"{what} recurses deeper than Python allows")
    for (name, place), times in Counter(own_frames(error)).most_common(1):
        if times > 1:
            found.message += f": {name} calls itself"
            found.code = place
    return found


def own_frames(error: BaseException) -> list[tuple[str, Place]]:
    """Return names and lines of a library's own functions in a traceback.

    The outermost is the first. Frames of gradcheck, of NumPy and of Python's own modules are left out."""
    return [
        (frame.f_code.co_name, Place(frame.f_code.co_filename, line))
        for frame, line in traceback.walk_tb(error.__traceback__)
        if is_own_frame(frame)
    ]


def is_own_frame(frame: FrameType) -> bool:
    """Return whether a frame runs a line of a library that is checked."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return os.path.isabs(frame.f_code.co_filename) and package not in _NOT_CHECKED


def note_interruption(error: BaseException, what: str) -> None:
    """Note the interrupted call on an interruption without notes."""
    if not getattr(error, "__notes__", ()):
        error.add_note(what)


def is_deliberate(error: BaseException) -> bool:
    """Return whether the library's own code raises or asserts, not NumPy.

    A SystemExit refuses no argument: it would end the whole process."""
    if not isinstance(error, Exception):
        return False
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return False
    frame, number = frames[-1]
    line = source_line(frame, number).lstrip()
    own = not str(frame.f_globals.get("__name__", "")).startswith(("numpy", "gradcheck.engines."))
    return own and (isinstance(error, AssertionError) or _RAISES.search(line) is not None)


def _unimplemented(error: NotImplementedError) -> str:
    """Return the missing feature that an exception names.

    For HIPS autograd's `VJP of roll wrt argnums (0,) not defined` it is the gradient of roll."""
    found = re.search(r"VJP of (\w+)", exception_text(error))
    return f"a gradient of {found[1]}" if found else f"what raises {error_line(error):.40}"


def error_line(error: BaseException) -> str:
    """`ValueError: shapes do not fit`, on one line; behind `:`, also the next.

    Addresses of objects are left out: they would tell one mistake in two cases apart."""
    text = [line.strip() for line in _ADDRESS.sub("", exception_text(error)).splitlines() if line.strip()]
    count = next((number for number, line in enumerate(text, 1) if not line.endswith(":")), len(text))
    return f"{type(error).__name__}: {' '.join(text[:count])}" if text else type(error).__name__


def with_expected_errors(case: Case, evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with exceptions as the errors that steps expect."""
    states = tuple(
        replace(state, error=_as_expected_kind(step, state.error)) if state.error else state
        for step, state in zip(case.steps, evaluation.states, strict=False)
    )
    error = evaluation.error
    if error is not None and not states and case.steps:
        error = _as_expected_kind(case.steps[0], error)
    elif states and error is evaluation.states[-1].error:
        error = states[-1].error
    return replace(evaluation, states=states, error=error)


def _as_expected_kind(step: Step, error: TensorError) -> TensorError:
    if step.raises is None or not isinstance(error, EngineError) or isinstance(error.__cause__, _SLIPS):
        return error
    meant = TensorError(error.message, hint=error.hint)
    meant.kind = step.raises
    return meant


def signature_parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """Return a callable's parameters; None if its signature is unreadable."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


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
    files = ((frame, frame.filename) for frame in frames_of(error))
    own = [frame for frame, file in files if not (file.startswith((_OURS, "<frozen")) or is_installed_file(file))]
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


# Output ---------------------------------------------------------------------------------------------


class Output(io.TextIOBase):
    """A stream that keeps the beginning of printed text, to show on failures."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._room = LIMIT

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._room > 0:
            self._parts.append(text[: self._room])
            self._room -= len(text)
            if self._room <= 0:
                self._parts.append("\n…\n")
        return len(text)

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Capture Python's stdout and stderr in the block, which runs user code."""
        with redirect_stdout(self), redirect_stderr(self), importing_elsewhere():
            yield

    def take(self) -> str:
        """Return all text since the last call."""
        text = "".join(self._parts)
        self._parts.clear()
        self._room = LIMIT
        return text
