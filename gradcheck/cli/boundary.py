"""Where expected errors and bugs part: a person's mistake gets a line and exit code 2, a bug a plea to report it."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import click

from gradcheck import __version__
from gradcheck.cli.output import silence_stdout, write_stderr
from gradcheck.errors import GradcheckError
from gradcheck.reports.text import plain

USAGE, CRASH, EMPTY, INTERRUPTED = 2, 3, 5, 130


class NothingToDo(GradcheckError):
    """No case was found or selected."""

    kind = "empty"


def guarded(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a click command; the exit code, whatever happens. No user mistake shows a traceback."""
    try:
        code = command.main(args=list(arguments), prog_name="gradcheck", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show()
        return USAGE
    except NothingToDo as error:
        return _complain(error, EMPTY)
    except GradcheckError as error:
        return _complain(error, USAGE)
    except (KeyboardInterrupt, click.Abort):
        write_stderr("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return 0
    except Exception as error:
        return _crash(error, arguments)


def _complain(error: GradcheckError, code: int) -> int:
    write_stderr(f"gradcheck: {plain(str(error))}")
    return code


def _crash(error: Exception, arguments: Sequence[str]) -> int:
    if _is_verbose(arguments):
        write_stderr("".join(traceback.format_exception(error)).rstrip())
    text = " ".join(str(error).split())
    write_stderr(f"gradcheck {__version__} crashed, which is its own fault: {type(error).__name__}: {text[:500]}")
    write_stderr("Please report it to its issue tracker, with the case and the traceback that -v shows.")
    return CRASH


def _is_verbose(arguments: Sequence[str]) -> bool:
    return any(a == "--verbose" or (a.startswith("-v") and set(a[1:]) == {"v"}) for a in arguments)
