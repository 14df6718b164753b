"""What notices a change: cases that come through the changed code, then tests. Each try is a process of its own.

Either it is forked of one in which all is imported, and the change is put into its functions (`Warm`), which takes no
time; or it is forked before gradcheck is imported, and imports the changed file by way of the import system, so that
all that is made when a file is imported is made of the changed one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import importlib.machinery
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.mutation.changes import OPS, ROOT, Change, changed
from benchmarks.mutation.in_place import functions, is_in_functions, put_in

#: After how many seconds of its own a try has noticed something: it does not end.
_ENDLESS = 240
#: Of each case: how long it takes, and which functions of the ops it comes through, by file and first line.
Passed = dict[str, tuple[float, set[tuple[str, int]]]]


def forked(function: Callable[..., Any], *args: Any) -> str:
    """What the function says in a process of its own; "does not end" or "ends the process" where it says nothing."""
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_speak, args=(sender, function, args))
    process.start()
    sender.close()
    try:
        return str(receiver.recv())
    except EOFError:
        process.join()
        return "does not end" if process.exitcode == -signal.SIGVTALRM else "ends the process"
    finally:
        process.join()


def _speak(sender: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, _ENDLESS)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            answer = function(*args)
        except BaseException as error:
            answer = f"raises {type(error).__name__}: {error}"[:200]
        sender.send(answer)
        sender.close()
        os._exit(0)


class Warm:
    """A process in which everything is imported; what it is asked is answered by a process forked of it."""

    def __init__(self, tests: list[str]) -> None:
        self._own, theirs = multiprocessing.get_context("fork").Pipe()
        process = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs, tests))
        process.start()
        theirs.close()

    def ask(self, function: Callable[..., Any], *args: Any) -> str:
        self._own.send((function, args))
        return str(self._own.recv())

    def end(self) -> None:
        self._own.send(None)


def _serve(pipe: Any, tests: list[str]) -> None:
    sys.path.insert(0, str(ROOT))
    importlib.import_module("gradcheck.autograd.op").whole_table()
    for module in ("gradcheck.cli.run_command", *tests):
        importlib.import_module(module)
    functions()  # the collector names none that is frozen
    gc.freeze()
    while (asked := pipe.recv()) is not None:
        function, args = asked
        pipe.send(forked(function, *args))


# The changed file --------------------------------------------------------------------------------------


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, and makes it of a changed tree."""

    def __init__(self, change: Change) -> None:
        self._change = change
        name = change.file.removesuffix(".py").replace("/", ".")
        self._name = name.removesuffix(".__init__")

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self._name:
            return None
        place = str(ROOT / self._change.file)
        is_package = place.endswith("__init__.py")
        spec = importlib.machinery.ModuleSpec(name, self, origin=place, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [str(Path(place).parent)]
        return spec

    def exec_module(self, module: Any) -> None:
        exec(compile(changed(self._change), str(ROOT / self._change.file), "exec"), module.__dict__)


# Cases -------------------------------------------------------------------------------------------------


def coverage(cases: str) -> Passed:
    """Which functions of the ops each case comes through."""
    told = json.loads(forked(_coverage, cases))
    return {name: (seconds, {(file, line) for file, line in found}) for name, (seconds, found) in told.items()}


def _coverage(cases: str) -> str:
    from gradcheck import load, run

    found: dict[str, Any] = {}
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    for case in load([cases])[0]:
        codes.clear()
        begin = time.process_time()
        sys.setprofile(note)
        run([case], allow_code=True)
        sys.setprofile(None)
        folder = str(OPS)
        ours = {(c.co_filename, c.co_firstlineno) for c in codes if c.co_filename.startswith(folder)}
        named = sorted((Path(file).relative_to(ROOT).as_posix(), line) for file, line in ours)
        found[case.id] = (time.process_time() - begin, named)
    return json.dumps(found)


def cases_through(change: Change, passed: Passed) -> list[str]:
    """The cases that come through the changed statement, the quickest first; of one that is no function's, those that
    come through the file."""
    first, last = change.lines
    through = {
        name
        for name, (_, places) in passed.items()
        if any(file == change.file and first <= line <= last for file, line in places)
    }
    if not through:
        through = {name for name, (_, places) in passed.items() if any(file == change.file for file, _ in places)}
    return sorted(through, key=lambda name: passed[name][0])


def by_cases(change: Change, names: list[str], warm: Warm) -> str:
    """The first case that fails under the change; empty where none does."""
    if not names:
        return ""
    if is_in_functions(change):
        return warm.ask(_by_cases, change, names, put_in)
    return forked(_by_cases, change, names, _import_changed)


def _by_cases(change: Change, names: list[str], make: Callable[[Change], bool]) -> str:
    if not make(change):
        return ""
    from gradcheck import load, run

    for name in names:
        known, errors = load([name])
        if errors:
            return f"{name}: invalid"
        (result,) = run(list(known), allow_code=True).cases
        if result.status not in ("passed", "xfailed"):
            return f"{name}: {result.status}"
    return ""


# Tests -------------------------------------------------------------------------------------------------


def by_tests(change: Change, groups: list[list[str]], warm: Warm) -> str:
    """The first test that fails under the change, of groups that are asked in turn; empty where none does.

    What the nearest two groups do not notice in functions they are asked again of a file that was imported so.
    """
    if is_in_functions(change):
        found = next(filter(None, (warm.ask(_by_tests, change, group, put_in) for group in groups)), "")
        if found:
            return found
        groups = groups[:2]
    return next(filter(None, (forked(_by_tests, change, group, _import_changed) for group in groups)), "")


def require_that_tests_see(change: Change, tests: list[str], warm: Warm) -> None:
    """Raises where a change that these tests do notice comes to nobody, or what is unchanged does not pass."""
    found = warm.ask(_by_tests, change, tests, _leave)
    if found:
        raise RuntimeError(f"without any change, {found}")
    if not warm.ask(_by_tests, change, tests, put_in) or not forked(_by_tests, change, tests, _import_changed):
        raise RuntimeError(f"the tests do not see what is changed: {change.title}")


def _leave(change: Change) -> bool:
    return True


def _by_tests(change: Change, tests: list[str], make: Callable[[Change], bool]) -> str:
    sys.path.insert(0, str(ROOT))
    if not make(change):
        return ""
    import pytest

    class First:
        name = ""

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed and not self.name:
                self.name = str(report.nodeid)

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed and not self.name:
                self.name = f"{report.nodeid}: cannot be collected"

    first = First()
    os.chdir(ROOT)
    code = pytest.main(["-q", "-x", "-n0", "--assert=plain", "-p", "no:cacheprovider", *tests], plugins=[first])
    return first.name or ("" if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else f"pytest ends with {code}")


def _import_changed(change: Change) -> bool:
    sys.meta_path.insert(0, _Changed(change))
    return True
