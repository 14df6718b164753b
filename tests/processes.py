"""Python processes for tests: forks of one that has imported gradcheck and torch.

A new interpreter takes a second for these imports. A test of start-up or exit itself starts one all the same, by
`subprocess`: what is imported, from where, and how modules are taken apart.
"""

from __future__ import annotations

import atexit
import functools
import gc
import os
import pickle
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn

ROOT = Path(__file__).parents[1]
#: What a run that fails imports, in the order in which it does so.
PRELOADED = (
    "gradcheck.cli.run_command",
    "gradcheck.checks.pipeline",
    "gradcheck.checks.scheduling.sequential",
    "gradcheck.checks.failures.explain",
    "gradcheck.checks.shrinking.reproduction",
    "gradcheck.reports.formats.full",
    "gradcheck.reports.formats.json",
    "gradcheck.engines.torch",
    "torch",
    "pytest",
)
_REQUEST = 1 << 20


def run_python(
    *words: str, cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None, timeout: float = 1_000
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module …`, `python -c code …` or `python file …` in a fork of the server, without input.

    Of the environment, what an interpreter or a library reads at its start has no effect.
    """
    if not sys.platform.startswith("linux"):
        return subprocess.run(
            [sys.executable, *words], cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout, check=False,
        )  # fmt: skip
    reads, writes = zip(*(os.pipe() for _ in range(3)), strict=True)
    request = pickle.dumps((words, os.path.abspath(cwd or os.getcwd()), dict(os.environ if env is None else env)))
    socket.send_fds(_server(), [request], writes)
    for pipe in writes:
        os.close(pipe)
    try:
        out, err, ended = _read_all(reads, timeout, words)
    finally:
        for pipe in reads:
            os.close(pipe)
    return subprocess.CompletedProcess(words, int(ended.split()[1]), out.decode(), err.decode())


def _read_all(pipes: tuple[int, ...], timeout: float, words: tuple[str, ...]) -> list[bytes]:
    found = dict.fromkeys(pipes, b"")
    still, end = set(pipes), time.monotonic() + timeout
    while still:
        ready, _, _ = select.select(still, [], [], max(end - time.monotonic(), 0))
        if not ready:
            os.kill(int(found[pipes[-1]].split()[0]), signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout)
        for pipe in ready:
            part = os.read(pipe, 1 << 16)
            found[pipe] += part
            if not part:
                still.remove(pipe)
    return list(found.values())


@functools.cache
def _server() -> socket.socket:
    """Start the server of this process; it ends with the socket."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRADCHECK_")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.processes", str(there.fileno())]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL)
    there.close()
    atexit.register(process.wait)
    atexit.register(here.close)
    return here


def _serve(requests: socket.socket) -> None:
    for name in PRELOADED:
        import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        request, pipes, _, _ = socket.recv_fds(requests, _REQUEST, 3)
        if not request:
            return
        watcher = os.fork()
        if not watcher:
            requests.close()
            _watch(pickle.loads(request), *pipes)
        for pipe in pipes:
            os.close(pipe)
        os.waitpid(watcher, 0)


def _watch(request: tuple[tuple[str, ...], str, dict[str, str]], out: int, err: int, ended: int) -> NoReturn:
    """Run the request; write to the pipe `ended` which process it is, and then how it ended."""
    if os.fork():  # the server waits for nothing
        os._exit(0)
    process = os.fork()
    if not process:
        os.close(ended)
        for standard, pipe in ((1, out), (2, err)):
            os.dup2(pipe, standard)
            os.close(pipe)
        _run(*request)
    for pipe in (out, err):  # whoever reads them waits until all have closed them
        os.close(pipe)
    with suppress(BrokenPipeError):  # nobody waits any more
        os.write(ended, f"{process} ".encode())
        _, status = os.waitpid(process, 0)
        os.write(ended, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _run(words: tuple[str, ...], folder: str, environment: dict[str, str]) -> NoReturn:
    """Do what Python does with these words, and end as it ends."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    atexit._clear()
    code: object = 1
    try:
        _interpret(*words)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code != end.code and end.code is not None:
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(int(code))


def _interpret(how: str, what: str = "", *arguments: str) -> None:
    if how == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = ["-m", *arguments]
        if what == "pytest":  # it rewrites plugins, and warns of one that is imported
            for name in [name for name in sys.modules if name.partition(".")[0] == "gradcheck"]:
                del sys.modules[name]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif how == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *arguments]
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(how))
        sys.argv = [how, *filter(None, (what, *arguments))]
        runpy.run_path(how, run_name="__main__")


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
