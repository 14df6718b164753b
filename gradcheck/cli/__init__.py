"""The command line: a command turns options into a call and an exit code.

This package knows click, paths and streams; it knows neither how cases are checked nor how results are worded. A new
command is a file here and a line in `COMMANDS` in `group`; a new option of `run` is an entry in `options`.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None, left_with: list[int] | None = None) -> None:
    """Run a command and exit with its code, which is put into `left_with`."""
    tune_garbage_collector()
    atexit.register(gc.freeze)
    words = sys.argv[1:] if arguments is None else list(arguments)
    # A caller with arguments is a program, which may have changed the computation: it uses no cache.
    code = None
    if arguments is None and _may_run(words):
        from gradcheck.cache.environment_digest import package_digest

        code = package_digest()  # of gradcheck's own files, before more is imported
        from gradcheck.checks.isolation.memory_limit import keep_heap

        keep_heap()
    from gradcheck.cli.fast_exit import limit_exit
    from gradcheck.cli.group import gradcheck, run_command
    from gradcheck.cli.supervisor import CommandProcess

    own = CommandProcess(code, may_fork=left_with is not None) if arguments is None else None
    found = run_command(gradcheck, words, own)
    if own is not None:
        own.report_exit_code(found)
    if left_with is not None:
        left_with.append(found)
        limit_exit(found)
    sys.exit(found)


def tune_garbage_collector() -> None:
    """Make garbage collection rarer; the caller's `atexit` skips the last one.

    A run makes many small objects and hardly a cycle, and imports make only what stays, torch's half a million objects
    for one: that saves a tenth of the time, the exit another, and a graph of ten times the ops takes ten times as long.
    """
    gc.set_threshold(500_000, 20, 1_000)


def _may_run(words: Sequence[str]) -> bool:
    """Return whether these words call `run`: by its name, or by a path."""
    first = words[0] if words else ""
    return (first in ("run", "-") or os.path.exists(first.partition("::")[0])) and not {"-h", "--help"} & set(words)
