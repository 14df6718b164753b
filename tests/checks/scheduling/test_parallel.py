"""A run in several processes, or elsewhere: the same results in the same order; who ends a process costs one case."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gradcheck.checks.isolation.memory_limit import default_memory_limit
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.isolation.worker_processes import THREADED
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.scheduling.parallel import _settings, executor_factory, plan_run
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.core import Core
from gradcheck.errors import InvalidCase, Place, UsageError
from gradcheck.language.case import Loaded
from tests.conftest import FOREVER
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


TEXT = """
name: case {n}
inputs: {{x: [1, {n}]}}
graph: {{y: (x * x).sum()}}
formulas: {{x: {factor} * x}}
"""
CASES = [case_of(TEXT.format(n=n, factor=3 if n == 5 else 2)) for n in range(40)]
BROKEN = [InvalidCase("no case", place=Place("a.yaml", 1, 1))]
#: An engine that does what a case's name says.
ODD = """
import ctypes, os, time
from gradcheck.engines.core import Core

class Odd(Core):
    name = "odd"

    def evaluate(self, problem, recorder=None):
        name = problem.case.name
        if name == "case 7":
            ctypes.string_at(0)  # a segmentation fault
        if name == "case 23":
            os._exit(4)
        return super().evaluate(problem, recorder)
"""
forked = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")


def strip(case: CaseResult) -> Any:
    return case.id, case.status, case.comparisons, case.errors, case.incomplete, case.power


@pytest.fixture(scope="module")
def here() -> RunResult:
    return run(Loaded(tuple(CASES), tuple(BROKEN)))


def same(there: RunResult, here: RunResult) -> bool:
    return [strip(case) for case in there.cases] == [strip(case) for case in here.cases]


def test_processes_find_the_same_in_the_same_order(here: RunResult) -> None:
    told: list[str] = []
    before = set(active_children())
    there = run(Loaded(tuple(CASES), tuple(BROKEN)), jobs=2, on_result=lambda case, _: told.append(case.id))
    assert same(there, here)
    assert told == [case.id for case in here.cases]
    assert set(active_children()) <= before


def test_any_executor_will_do(here: RunResult) -> None:
    assert same(run(Loaded(tuple(CASES), tuple(BROKEN)), executor=lambda: ThreadPoolExecutor(3)), here)


def test_processes_of_an_executor_import_nothing_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python itself looked there for `multiprocessing` in a process that is started anew."""
    (tmp_path / "multiprocessing.py").write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    found = run(CASES[:2], executor=lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")))
    assert found.count("passed") == 2
    assert not (tmp_path / "ran").exists()
    assert "PYTHONSAFEPATH" not in os.environ


def test_a_case_that_cannot_be_sent_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = Packer.pack

    def fails(transport: Packer, thing: Any) -> bytes:
        if isinstance(thing, list) and any(getattr(one[0], "name", "") == "case 7" for one in thing):
            raise RecursionError("too deep")
        return pack(transport, thing)

    monkeypatch.setattr(Packer, "pack", fails)
    found = run(CASES, executor=lambda: ThreadPoolExecutor(2))
    assert [case.name for case in found.cases if case.status == "crashed"] == ["case 7"]
    assert found.count("passed") == len(CASES) - 2


def test_a_run_that_stops_early_stops_where_one_process_would() -> None:
    there = run(CASES, jobs=2, maxfail=1)
    assert [case.status for case in there.cases] == ["passed"] * 5 + ["failed"]


@forked
def test_who_ends_a_process_costs_one_case_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    found = run(CASES, engines=[f"{tmp_path / 'odd.py'}:Odd"], jobs=2)
    lost = {case.name: case.errors[0].message["text"] for case in found.cases if case.status == "crashed"}
    assert lost == {"case 7": "by the signal SIGSEGV", "case 23": "with the exit code 4"}
    assert [case.name for case in found.cases] == [case.name for case in CASES]
    assert {case.status for case in found.cases} == {"passed", "crashed", "failed"}


@forked
def test_a_pool_that_breaks_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    made: list[Executor] = []

    def pool() -> Executor:
        made.append(ProcessPoolExecutor(1, mp_context=get_context("forkserver")))
        return made[-1]

    found = run(CASES[5:9], engines=[f"{tmp_path / 'odd.py'}:Odd"], executor=pool)
    assert [case.status for case in found.cases] == ["failed", "passed", "crashed", "passed"]
    assert len(made) > 1


class Waits(Executor):
    """Answers from another thread, in any order, or never."""

    def __init__(self, answers: Callable[[Future[Any], Any], None]) -> None:
        self.answers, self.stopped = answers, False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.answers(future, lambda: function(*args, **kwargs))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.stopped = True


def test_an_interrupt_keeps_what_has_finished() -> None:
    begun: list[Future[Any]] = []

    def answers(future: Future[Any], call: Callable[[], Any]) -> None:
        begun.append(future)
        if len(begun) == 2:  # the first never comes
            future.set_result(call())
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    executor = Waits(answers)
    told: list[str] = []
    found = run(CASES[:5], executor=lambda: executor, on_result=lambda case, _: told.append(case.name))
    assert found.interrupted
    assert told == ["case 1"]
    assert [case.name for case in found.cases] == ["case 1"]
    assert executor.stopped


def test_what_an_executor_raises_costs_the_case() -> None:
    def answers(future: Future[Any], call: Callable[[], Any]) -> None:
        future.set_exception(ConnectionError("worker gone")) if answered else future.set_result(call())
        answered.append(1)

    answered: list[int] = []
    found = run(CASES[:2], executor=lambda: Waits(answers))
    assert [case.status for case in found.cases] == ["passed", "crashed"]
    assert found.cases[1].errors[0].message["text"] == "worker gone"


def test_an_engine_that_cannot_be_sent_is_refused() -> None:
    class Mine(Core):
        name = "mine"

    with pytest.raises(UsageError, match="an engine cannot be sent to another process"):
        run(CASES[:3], engines=[Mine()], jobs=2)


def test_chunks_are_such_that_everybody_has_work() -> None:
    def plan(number: int, **options: Any) -> Any:
        chosen = Options(**options)
        return plan_run(CASES[:1] * number, chosen, lambda: engines_of(chosen))

    assert plan(10) is None
    assert [plan(number, jobs=2).size for number in (3, 100, 10_000)] == [1, 7, 16]
    assert plan(100, jobs=2, timeout=1.0).size == 1
    assert plan(1000, executor=lambda: ThreadPoolExecutor(1)).size == 16


def test_a_limit_of_time_holds_beside_a_library_that_forbids_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, THREADED[0], ModuleType(THREADED[0]))
    for chosen, has_plan in ((Options(timeout=1.0), True), (Options(timeout=1.0, engines=[Core()]), False)):
        plan = plan_run(CASES[:1], chosen, lambda chosen=chosen: engines_of(chosen))
        assert (plan is not None) == has_plan


def test_a_worker_that_is_late_is_ended(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        ODD.replace("ctypes.string_at(0)", f"time.sleep({FOREVER})").replace("os._exit(4)", "pass")
    )
    found = run(CASES[6:9], engines=[f"{tmp_path / 'late.py'}:Odd"], jobs=2, timeout=8.0)
    assert [case.errors[0].kind if case.errors else "" for case in found.cases] == ["", "timeout", ""]


def test_what_a_worker_must_load_takes_no_case_its_time(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(9)\n" + ODD)
    found = run(CASES[:2], engines=[f"{tmp_path / 'slow.py'}:Odd"], jobs=2, timeout=8.0)
    assert [case.status for case in found.cases] == ["passed", "passed"]


def test_an_engine_that_there_is_not_is_told_once() -> None:
    with pytest.raises(UsageError, match=r"there is no engine 'torhc'; did you mean 'torch'\?"):
        run(CASES, engines=["torhc"], jobs=2)


def test_engines_are_made_here_only_where_they_are_needed(tmp_path: Path) -> None:
    (tmp_path / "right.yaml").write_text(TEXT.format(n=1, factor=2))
    script = "import sys, gradcheck; print(gradcheck.run('right.yaml', jobs=2).exit_code, 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "0 False\n"


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        (Options(jobs=3), default_memory_limit(3)),
        (Options(jobs=3, memory=10**9), 10**9),
        (Options(jobs=3, executor=ThreadPoolExecutor), None),
    ],
)
def test_workers_share_the_default_limit_of_memory(options: Options, limit: int | None) -> None:
    """As many large cases as workers do not take the machine's memory several times over."""
    sent, _, _ = Packer(()).unpack(_settings(options, ()))
    assert sent.memory == limit
