"""Output: stdout and stderr, colours, reports of a run, smallest cases."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

from gradcheck.cache.cache_folder import FOLDER, open_cache
from gradcheck.cli.write_files import forbid_overwriting_inputs, is_report_file, prepare_file, resolve_links, write_file
from gradcheck.errors import UsageError
from gradcheck.forks import end_fork
from gradcheck.reports import FORMATS, Look, render, render_file
from gradcheck.reports.safe_text import for_log, plain, shared_length
from gradcheck.safe_files import is_same

if TYPE_CHECKING:
    from gradcheck.checks.result import CaseResult, RunResult
    from gradcheck.language.case import Loaded

WIDTH = 80
#: Variables of services that read commands in the log: GitHub, Azure, TeamCity.
_SERVICES = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")

#: The most lines between the first change and the last; difflib takes time in proportion to their square.
_MOST_COMPARED = 10_000

#: The stream of reports, once stdout is reserved; None is `sys.stdout`.
_report_stream: TextIO | None = None
#: Which file that was: somebody's code may close it, and its number then goes to a file of that code.
_report_file: os.stat_result | None = None


def stdout() -> TextIO | None:
    """Return the stream that reports are written to."""
    return sys.stdout if _report_stream is None else _report_stream


def reserve_stdout() -> None:
    """Reserve the standard output for reports; other output goes to stderr."""
    # user code, in Python or C, cannot spoil a report
    global _report_stream, _report_file
    known = sys.__stdout__
    if _report_stream is not None or known is None or sys.stdout is not known:
        return
    try:
        known.flush()
        number = known.fileno()
        kept = os.dup(number)
        os.dup2(2, number)
        _report_file = os.fstat(kept)
    except (OSError, ValueError):  # no such streams: nothing can be mixed up
        return
    _report_stream = open(kept, "w", encoding=known.encoding, errors=known.errors, closefd=False)  # noqa: SIM115


def _reserved(path: Path) -> Path:
    """Return the path, or that of the reserved stream for `/dev/stdout`."""
    names = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
    if _report_stream is None or os.path.abspath(path) not in names:
        return path
    return Path(f"/dev/fd/{_report_stream.fileno()}")


def wants_color(choice: str, stream: IO[str] | None) -> bool:
    """Return `--color`, else NO_COLOR (no-color.org), FORCE_COLOR, TERM."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0", "false"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def terminal_width() -> int:
    """Return the terminal's columns; COLUMNS overrides, and a log file has 80."""
    if os.environ.get("COLUMNS", "").isdecimal() and int(os.environ["COLUMNS"]):
        return max(40, int(os.environ["COLUMNS"]))
    stream = stdout()
    try:
        return max(40, os.get_terminal_size(stream.fileno()).columns or WIDTH) if stream is not None else WIDTH
    except (OSError, ValueError, AttributeError):  # no terminal, or no file
        return WIDTH


def write_stdout(text: str | bytes, *, is_data: bool = False) -> None:
    """Write the text. A reader that has left (`| head`) is no error."""
    # text for people contains no commands to the service that reads the log; data are written unchanged, bytes as such
    end_fork()
    stream = stdout()
    if stream is None:
        raise UsageError("cannot write to the standard output: it is closed")
    if _report_file is not None and _report_stream is not None and not is_same(_report_stream.fileno(), _report_file):
        raise UsageError("cannot write to the standard output: somebody's code has closed it")
    encoding = stream.encoding or "utf-8"
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            text = text if is_data else without_commands(text)
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        raise UsageError(f"cannot write to the standard output: {error.strerror}") from error


def write_stderr(*lines: str) -> None:
    """Write lines for people, each on one line, without terminal commands."""
    end_fork()
    stream = sys.stderr
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    text = without_commands("".join(f"{plain(line)}\n" for line in lines))
    with contextlib.suppress(OSError):  # no reader is left
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


def write_diff(file: str, before: str, after: str) -> None:
    """Write the difference of two texts to stderr, as `diff -u` does."""
    import difflib  # here, since few commands need it

    one, other = before.splitlines(), after.splitlines()
    first = max(shared_length(one, other) - 1, 0)  # a line of context stays
    one, other = one[first:], other[first:]
    last = max(shared_length(one[::-1], other[::-1]) - 1, 0)
    one, other = one[: len(one) - last], other[: len(other) - last]
    if max(len(one), len(other)) > _MOST_COMPARED:
        write_stderr(f"{file}: the lines that change are too many to be shown")
        return
    for line in difflib.unified_diff(one, other, file, file, lineterm="", n=1):
        moved = re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + first}", line, count=2)
        write_stderr(moved if line.startswith("@@ ") else line)


def without_commands(text: str) -> str:
    """Return the text for a log, without commands to a service that reads it."""
    return for_log(text) if any(map(os.environ.get, _SERVICES)) else text


def silence_stdout() -> None:
    """Discard what is still buffered when Python closes the stream."""
    stream = stdout()
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a run: `format` to `file` (None: stdout), and `reports`."""

    format: str
    file: Path | None
    reports: tuple[tuple[str, Path], ...]
    color: str
    verbosity: int
    durations: int | None = None

    @property
    def files(self) -> list[Path]:
        """All files that are written."""
        return [path for _, path in self.reports] + ([self.file] if self.file else [])

    def prepare(self) -> None:
        """Reject files that cannot be written, before the run. Raises UsageError."""
        for path in self.files:
            prepare_file(path)
        if len({resolve_links(path) for path in self.files}) < len(self.files):
            raise UsageError("two reports would go to the same file", hint="name a file for each")

    def forbid_overwriting(self, selection: Loaded) -> None:
        """Reject a file that the cases were read from. Raises UsageError."""
        places = (*(case.place for case in selection.cases), *(error.place for error in selection.errors))
        forbid_overwriting_inputs(self.files, {place.file for place in places})

    @property
    def is_streaming(self) -> bool:
        """True if the standard output gets each result at once."""
        return self.format == "json-lines" and self.file is None

    def begin(self) -> Callable[[CaseResult], None] | None:
        """Write what precedes results; return a writer of results, if streaming."""
        if not self.is_streaming:
            return None
        from gradcheck.reports.formats.json_lines import begin_line, reliable_case_line

        write_stdout(begin_line(), is_data=True)
        return lambda case: write_stdout(reliable_case_line(case), is_data=True)

    def write(self, result: RunResult, begun: bool = False) -> None:
        """Write everything that is not yet written. Raises UsageError."""
        # a file that cannot be written does not affect the others; its report goes to the standard output
        self._write_github_summary(result)
        plain = Look(verbosity=self.verbosity, durations=self.durations)
        files = [(path, format, plain) for format, path in self.reports]
        if self.file:
            files.append((self.file, self.format, replace(plain, color=self.color == "always")))
        lost: list[UsageError] = []
        for path, format, look in files:
            try:
                text = render_file(result, format, look)
                write_file(
                    _reserved(path), without_commands(text) if FORMATS[format].for_people else text, is_report_file
                )
            except UsageError as error:
                lost.append(error)
        if (not self.file or lost) and (stdout() is not None or not self.reports):
            self._write_stdout(result, begun, plain)
        if lost:
            raise lost[0]

    def _write_stdout(self, result: RunResult, begun: bool, plain: Look) -> None:
        if begun:
            from gradcheck.reports.formats.json_lines import end_line

            write_stdout(end_line(result), is_data=True)
        else:
            look = replace(plain, color=wants_color(self.color, stdout()), width=terminal_width())
            write_stdout(render(result, self.format, look), is_data=not FORMATS[self.format].for_people)

    def _write_github_summary(self, result: RunResult) -> None:
        """Add a page to a GitHub job's summary, if a report goes there."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if not path or not {"github", "markdown"} & {self.format, *(format for format, _ in self.reports)}:
            return
        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(render(result, "markdown", Look(durations=self.durations)))
        except OSError as error:
            write_stderr(f"cannot write to GITHUB_STEP_SUMMARY '{path}': {error.strerror}")


#: The beginning of each smallest case; no other file is overwritten.
_SMALLEST = "# the smallest case that gradcheck found to fail as this one does:"


def write_smallest_case(id: str, case: str) -> str:
    """Write a case file named after an id; return its path, or ""."""
    import hashlib  # here, since help does without

    words = "-".join(re.findall(r"[A-Za-z0-9]+", id.rpartition("::")[2]))[:60] or "case"
    name = f"{words}-{hashlib.sha256(id.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}.yaml"
    data = f"{_SMALLEST} {plain(id)}\n{case}".encode("utf-8", "backslashreplace")
    try:
        with open_cache(create=True) as folder, folder.open_subfolder("smallest", create=True) as inner:
            if not inner.may_write(name, _is_smallest):
                return ""
            inner.replace(name, data)
    except OSError:  # not writable; the report contains the case
        return ""
    return (FOLDER / "smallest" / name).as_posix()


def _is_smallest(file: IO[bytes]) -> bool:
    return file.read(len(_SMALLEST)) == _SMALLEST.encode()
