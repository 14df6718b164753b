"""What somebody's code does besides computing: what it raises, in gradcheck's kinds of errors, and what it prints."""

from __future__ import annotations

import io
import linecache
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace

from gradcheck.engines.base import Evaluation
from gradcheck.errors import GradcheckError, TensorError, Unsupported, exception_text
from gradcheck.forks import end_fork
from gradcheck.language.case import Case, Step


class EngineError(TensorError):
    """An exception of an engine that has no typed errors: what it means is for the case to say."""

    kind = "engine_error"


class EndlessRecursion(TensorError):
    """The engine calls itself deeper than Python goes."""

    kind = "recursion"


#: All that somebody's code may raise and be blamed for; an interruption, and the end of a case's time, are not its own.
USER_EXCEPTIONS = (Exception, SystemExit)
#: Exceptions of code that meant something else; no engine refuses a request in these words.
_SLIPS = (AttributeError, NameError, KeyError, ImportError)
#: A line that raises, also behind its condition.
_RAISES = re.compile(r"(^|:\s*)raise\b")
#: Characters kept; what an endless loop prints beyond them is lost.
LIMIT = 10_000


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Raise what a library raises inside as errors that say what was asked of it: Unsupported, EndlessRecursion,
    EngineError. Lack of memory passes through; on an interruption, as by lack of time, it is noted what it was."""
    try:
        yield
    except (GradcheckError, MemoryError):
        raise
    except NotImplementedError as error:
        raise Unsupported(f"{what} is not implemented: {error_line(error)}", lacks=_unimplemented(error)) from error
    except RecursionError:
        message = f"{what} recurses deeper than Python allows"
        raise EndlessRecursion(message, hint="walk the graph with a loop and a list") from None
    except USER_EXCEPTIONS as error:
        raise EngineError(f"{what} raised {error_line(error)}") from error
    except BaseException as error:
        note_interruption(error, what)
        raise
    finally:
        end_fork()


def note_interruption(error: BaseException, what: str) -> None:
    """Note on an interruption what was interrupted, unless that is known in more detail."""
    if not getattr(error, "__notes__", ()):
        error.add_note(what)


def is_deliberate(error: BaseException) -> bool:
    """Return whether a line of the library's own code raises or asserts, and not NumPy, or Python, on its behalf.

    A SystemExit refuses no argument: it would end the whole process.
    """
    if not isinstance(error, Exception):
        return False
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return False
    frame, number = frames[-1]
    line = linecache.getline(frame.f_code.co_filename, number, frame.f_globals).lstrip()
    own = not str(frame.f_globals.get("__name__", "")).startswith(("numpy", "gradcheck.engines."))
    return own and (isinstance(error, AssertionError) or _RAISES.search(line) is not None)


def _unimplemented(error: NotImplementedError) -> str:
    """What is missing: of HIPS autograd's `VJP of roll wrt argnums (0,) not defined`, the gradient of roll."""
    found = re.search(r"VJP of (\w+)", exception_text(error))
    return f"a gradient of {found[1]}" if found else f"what raises {error_line(error):.40}"


def error_line(error: BaseException) -> str:
    """`ValueError: shapes do not fit`, on one line."""
    text = exception_text(error).splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def with_expected_errors(case: Case, evaluation: Evaluation) -> Evaluation:
    """The same, where an exception is taken for the kind of error that its step asks for: an engine's own exceptions
    have no kinds, and a refusal is a refusal."""
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


# Printing -------------------------------------------------------------------------------------------


class Output(io.TextIOBase):
    """What is printed, kept to be shown only if something is wrong: a stream that keeps its beginning."""

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
        """Whatever Python writes to stdout and stderr inside comes here."""
        with redirect_stdout(self), redirect_stderr(self):
            yield

    def take(self) -> str:
        """All that has come since the last time."""
        text = "".join(self._parts)
        self._parts.clear()
        self._room = LIMIT
        return text
