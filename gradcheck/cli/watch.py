"""`run --watch`: run the cases of every saved file again.

All cases run if the code of an engine is saved. Each run is a fork of this process, which has imported no user engine
yet: the saved code is what runs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from gradcheck.cli.engine_code import user_code
from gradcheck.cli.options import engine_names
from gradcheck.cli.output import write_stderr
from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.errors import UsageError
from gradcheck.forks import report_from_here
from gradcheck.language.case import STDIN
from gradcheck.language.loader.case_files import SUFFIXES, folders_below, split_id
from gradcheck.reports.safe_text import count

#: Seconds between two checks of the files, and after a change, for editors that write in several steps.
_EVERY, _SETTLES = 0.5, 0.1
#: The exit code of a run's process that ended by itself; an engine may end it with 0.
_FINISHED = 99
#: Time and size of each file.
FileStates = dict[str, tuple[int, int]]


def watch(paths: Sequence[str], code: Sequence[str], once: Callable[[tuple[str, ...]], object]) -> None:
    """Call `once` with all paths, then with affected ones, until interrupted.

    A Python file below the folders of `code` affects all."""
    if STDIN in paths:
        raise UsageError("--watch looks at files, and '-' is the standard input", hint="name the file")
    if not hasattr(os, "fork"):
        raise UsageError("--watch needs a system that can fork processes")
    with importing_elsewhere():
        for module in ("gradcheck.checks.scheduling.run", "gradcheck.engines.core", "gradcheck.engines.torch"):
            import_module(module)
    known = file_states(paths, code)
    _run_in_fork(once, tuple(paths))
    pause = threading.Event()
    while True:
        write_stderr(f"watching {count(len(known), 'file')}; Ctrl-C ends it")
        while (now := file_states(paths, code)) == known:
            pause.wait(_EVERY)
        pause.wait(_SETTLES)
        now = file_states(paths, code)
        changed = [file for file, what in now.items() if known.get(file) != what]
        known = now
        touched = affected_paths(changed, paths)
        if touched:
            write_stderr(f"changed: {', '.join(changed[:3])}{', …' if len(changed) > 3 else ''}")
            _run_in_fork(once, touched)


def affected_paths(changed: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Return the changed files, or their named cases; all, if code changed."""
    if any(file.endswith(".py") for file in changed):
        return tuple(paths)
    files = {os.path.realpath(file): file for file in changed}
    named = [path for path in paths if "::" in path and os.path.realpath(split_id(path)[0]) in files]
    whole = [os.path.realpath(path) for path in paths if "::" not in path]
    below = [file for real, file in files.items() if any(map(Path(real).is_relative_to, whole))]
    return (*below, *named)


def code_folders(paths: Sequence[str], choices: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the folders with the code of engines, and of cases if any may run."""
    if any(some.get("allow_code") for some in choices):
        files = [split_id(path)[0] for path in paths]
        yield from [file if os.path.isdir(file) else os.path.dirname(file) or "." for file in files]
    yield from (code.folder for code in map(user_code, engine_names(*choices)) if code)


def file_states(paths: Sequence[str], code: Sequence[str]) -> FileStates:
    """Return time and size of every case file, and of Python files of `code`."""
    found: FileStates = {}
    for path in dict.fromkeys(split_id(path)[0] for path in paths):
        for file in _files_below(path, SUFFIXES) if os.path.isdir(path) else (path,):
            _record_state(file, found)
    for folder in dict.fromkeys(code):
        for file in _files_below(folder, (".py",)):
            _record_state(file, found)
    return found


def _files_below(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    for here, files in folders_below(folder):
        names = [] if isinstance(files, OSError) else sorted(files)
        yield from (os.path.join(here, file) for file in names if file.lower().endswith(suffixes))


def _record_state(file: str, found: FileStates) -> None:
    try:
        known = os.stat(file)
    except OSError:
        return
    found[os.path.normpath(file)] = known.st_mtime_ns, known.st_size


def _run_in_fork(once: Callable[[tuple[str, ...]], object], paths: tuple[str, ...]) -> None:
    child = os.fork()
    if not child:
        try:
            report_from_here()
            once(paths)
        finally:
            os._exit(_FINISHED)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != _FINISHED:
        write_stderr("gradcheck: the process of this run has ended before its report was written")
