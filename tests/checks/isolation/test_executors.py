"""What `--executor` takes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradcheck.checks.isolation.executors import executor_factory
from gradcheck.checks.result import CaseResult
from gradcheck.checks.scheduling.run import run
from gradcheck.errors import UsageError
from tests.from_text import case_of
from tests.paths import ROOT

MODULE = """
from concurrent.futures import ThreadPoolExecutor

def threads():
    return ThreadPoolExecutor(1)

def nothing():
    return 3

def broken():
    raise OSError("no such host")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_executors.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "my_executors", raising=False)
    return "my_executors"


def test_a_factory_of_a_module_here_makes_it(module: str) -> None:
    with executor_factory(f"{module}:threads")() as executor:
        assert executor.submit(abs, -1).result() == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("threads", "'threads' names no executor; write MODULE:FACTORY or dask://HOST:PORT"),
        ("my_executors:thread", "my_executors:thread cannot be imported: AttributeError"),
        ("no_such_module:x", "no_such_module:x cannot be imported: ModuleNotFoundError"),
        ("my_executors:nothing", "my_executors:nothing makes no executor, but a int; it must return a concurrent"),
        ("my_executors:broken", "my_executors:broken makes no executor: OSError: no such host"),
    ],
)
def test_mistakes_are_told(module: str, spec: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        executor_factory(spec)()
    assert str(caught.value).startswith(message)


def test_dask_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'gradcheck\[dask\]'"):
        executor_factory("dask://localhost:8786")


@pytest.fixture
def scheduler() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler of dask on this machine, and its two workers."""
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{what}", *given], env=environment)
        for what, given in (
            ("scheduler", ["--host", "127.0.0.1", "--port", address.partition(":")[2], "--no-dashboard"]),
            *[("worker", [address, "--nthreads", "1", "--no-nanny", "--no-dashboard"])] * 2,
        )
    ]
    try:
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_dask_finds_the_same_though_a_worker_is_killed(
    scheduler: tuple[str, list[subprocess.Popen[bytes]]],
) -> None:
    address, workers = scheduler
    text = "name: case {n}\ninputs: {{x: [1, {n}]}}\ngraph: {{y: (x * x).sum()}}\nformulas: {{x: 2 * x}}"
    cases = [case_of(text.format(n=n)) for n in range(200)]

    def kill(found: CaseResult, of: int) -> None:
        workers[0].kill()

    there = run(cases, executor=f"dask://{address}", on_result=kill)
    assert workers[0].wait()
    assert workers[1].poll() is None
    assert [(case.name, case.status) for case in there.cases] == [(case.name, "passed") for case in cases]
