"""Engines that misbehave: the run is watched, reports stay whole, nothing is waited for, no early end is a success."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from tests.cli.test_processes import call, start
from tests.processes import run_python

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="commands are watched on Linux alone")

TENSOR = """
import os, signal, subprocess, sys, time
import numpy as np

class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__

CALLS = 0
{at_import}

class Tensor:
    def __init__(self, data, parents=(), push=None):
        self.data, self.grad = np.asarray(data, dtype=float), None
        self.parents, self.push = parents, push
    def __mul__(self, other):
        return Tensor(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))
    def exp(self):
        found = np.exp(self.data)
{in_exp}
        return Tensor(found, (self,), lambda g: (g * found,))
    def sum(self):
        return Tensor(self.data.sum(), (self,), lambda g: (np.broadcast_to(g, self.data.shape),))
    def backward(self, grad=None):
{in_backward}
        order, seen = [], set()
        def visit(node):
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents:
                    visit(parent)
                order.append(node)
        visit(self)
        self.grad = np.ones_like(self.data) if grad is None else np.asarray(grad)
        for node in reversed(order):
            if node.push is not None:
                for parent, part in zip(node.parents, node.push(node.grad)):
                    parent.grad = part if parent.grad is None else parent.grad + part
"""
#: Only in one of the cases, so that the class is understood and the others pass.
ONLY_THERE = "if np.allclose(found, np.exp([0.25, 0.5])): "


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three cases, which need no process to load torch."""
    monkeypatch.setenv("GRADCHECK_REFERENCE", "core")
    (folder / "cases").mkdir()
    for name, text in {"a": "x * x", "b": "exp(x)", "c": "x * x * x"}.items():
        values = "[0.25, 0.5]" if name == "b" else "[1.5, 2]"
        file = folder / "cases" / f"{name}.yaml"
        file.write_text(f"name: {name}\ninputs: {{x: {values}}}\ngraph: {{y: '({text}).sum()'}}\n", encoding="utf-8")
    return folder


def engine(folder: Path, *, at_import: str = "", in_exp: str = "", in_backward: str = "") -> str:
    parts = {
        "at_import": dedent(at_import),
        "in_exp": indent(dedent(in_exp), " " * 8),
        "in_backward": indent(dedent(in_backward), " " * 8),
    }
    (folder / "own.py").write_text(TENSOR.format(**parts), encoding="utf-8")
    return "own.py:Tensor"


def run(*words: str) -> tuple[int, Any, str]:
    code, out, err = call("run", "cases", "--output-format", "json", *words)
    return code, json.loads(out), err


def statuses(report: Any) -> list[str]:
    return [case["status"] for case in report["cases"]]


# Ends that come early ----------------------------------------------------------------------------------

ENDS = {
    "os._exit(0)": "with the exit code 0",
    "os.kill(os.getpid(), signal.SIGSEGV)": "by the signal SIGSEGV",
    "import ctypes; ctypes.CDLL(None).exit(0)": "with the exit code 0",
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_in_a_case_costs_that_case(project: Path, end: str) -> None:
    name = engine(project, in_exp=ONLY_THERE + end)
    code, report, err = run("--engine", name)
    assert (code, statuses(report)) == (3, ["passed", "crashed", "passed"])
    (error,) = report["cases"][1]["errors"]
    assert ENDS[end] in error["message"]
    assert f"the process has ended {ENDS[end]} before its report was written" in err
    assert ("os._exit" in error["hint"]) == ("exit code" in ENDS[end])


@pytest.mark.parametrize("words", [(), ("-j", "2")])
def test_files_that_take_the_place_of_closed_ones_get_no_report(project: Path, words: tuple[str, ...]) -> None:
    """A library that makes itself a daemon closes all, and what it opens then has the numbers of what was there."""
    opened = "[open(f'own{number}.log', 'ab') for number in range(40)]"
    name = engine(project, in_exp=ONLY_THERE + f"os.closerange(3, 256); globals()['FILES'] = {opened}")
    code, report, err = run("--engine", name, *words)
    assert (code, statuses(report)) == (3, ["passed", "crashed", "passed"])
    assert "Traceback" not in err
    assert {file.read_bytes() for file in project.glob("own*.log")} == {b""}


@pytest.mark.parametrize("words", [("-j", "2"), ("--timeout", "60")])
def test_so_it_does_in_workers(project: Path, words: tuple[str, ...]) -> None:
    name = engine(project, in_exp=ONLY_THERE + "os._exit(0)")
    code, report, err = run("--engine", name, *words)
    assert (code, statuses(report), err) == (3, ["passed", "crashed", "passed"], "")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "cases", "--engine", "own.py:Tensor", "--output-format", "json-lines"),
        ("run", "cases", "--engine", "own.py:Tensor", "--coverage"),
        ("conform", "own.py:Tensor"),
    ],
)
def test_where_it_cannot_be_done_again_it_is_no_success(project: Path, words: tuple[str, ...]) -> None:
    engine(project, in_backward="if np.ndim(self.data) == 0: os._exit(0)")
    code, _, err = call(*words)
    assert code == 3
    assert err.endswith("gradcheck: the process has ended with the exit code 0 before its report was written\n")


@pytest.mark.parametrize("command", ["snapshot", "run"])
def test_an_engine_of_the_configuration_is_watched(project: Path, command: str) -> None:
    engine(project, at_import="os._exit(0)")
    (project / "pyproject.toml").write_text('[tool.gradcheck]\nengine = ["own.py:Tensor"]\n', encoding="utf-8")
    code, _, err = call(command, "cases")
    assert code == 3
    assert "before its report was written" in err


def test_an_end_after_the_report_changes_no_exit_code(project: Path) -> None:
    (project / "cases" / "wrong.yaml").write_text(
        "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 3 * x}\n", encoding="utf-8"
    )
    name = engine(project, at_import="import atexit; atexit.register(os._exit, 0)")
    code, report, err = run("--engine", name)
    assert (code, report["summary"]["failed"], err) == (1, 1, "")


@pytest.mark.parametrize(
    ("end", "code", "status"),
    [("os._exit(0)", 1, "failed"), ("os.kill(os.getpid(), 9)", 3, "crashed"), ("os.abort()", 3, "crashed")],
)
def test_code_that_a_case_names_is_watched(project: Path, end: str, code: int, status: str) -> None:
    (project / "code.py").write_text(f"import os\n\ndef f(x):\n    {end}\n", encoding="utf-8")
    (project / "cases" / "code.yaml").write_text(
        "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nimplementations: {y: ../code.py:f}\nbackward: {y: [1, 1]}\n",
        encoding="utf-8",
    )
    found, report, _ = run("--allow-code")
    assert (found, statuses(report)) == (code, ["passed", "passed", "passed", status])


# What is written meanwhile -----------------------------------------------------------------------------

WRITES = """
os.write(1, b"spoilt")
print("spoilt")
sys.__stdout__.write("spoilt")
sys.__stdout__.flush()
subprocess.run(["echo", "spoilt"])
import ctypes; ctypes.CDLL(None).puts(b"spoilt")
"""
AT_THE_END = f"""
import atexit
def late():
{indent(WRITES, "    ")}
atexit.register(late)
"""


@pytest.mark.parametrize("words", [(), ("-j", "2")])
def test_reports_stay_whole_whatever_is_written(project: Path, words: tuple[str, ...]) -> None:
    name = engine(project, at_import=WRITES + AT_THE_END, in_backward=WRITES)
    code, report, err = run("--engine", name, *words)
    assert (code, statuses(report)) == (0, ["passed"] * 3)
    assert "spoilt" in err


def test_so_do_those_that_stream(project: Path) -> None:
    name = engine(project, in_backward=WRITES)
    code, out, _ = call("run", "cases", "--engine", name, "--output-format", "json-lines")
    assert code == 0
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["begin", "case", "case", "case", "end"]


@pytest.mark.parametrize("closed", [2, 3])
def test_output_to_a_closed_file_is_no_exit_code(project: Path, closed: int) -> None:
    """The lowest free number would be that of the pipe that takes the exit code."""
    name = engine(project, in_backward="os.write(1, bytes(8))", in_exp=ONLY_THERE + "os._exit(0)")
    process = start(
        *("run", "cases", "--engine", name, "--report", "json=report.json"),
        preexec_fn=lambda: os.closerange(0, closed),
    )
    assert process.wait(timeout=300) == 3
    assert statuses(json.loads((project / "report.json").read_text())) == ["passed", "crashed", "passed"]


@pytest.mark.parametrize("place", ["'/'", "made := tempfile.mkdtemp()); os.rmdir(made"])
def test_a_working_directory_that_an_engine_leaves(project: Path, place: str) -> None:
    """Its case alone is checked elsewhere; reports and the cache are where they were."""
    name = engine(project, in_exp=ONLY_THERE + f"import tempfile; os.chdir({place})")
    code, _, err = call("run", "cases", "--engine", name, "--report", "json=report.json")
    assert (code, err) == (0, "")
    assert statuses(json.loads((project / "report.json").read_text())) == ["passed"] * 3


# What is left behind -----------------------------------------------------------------------------------

LEAVES = {
    "a child": "subprocess.Popen(['sleep', '300'])",
    "a fork": "if not os.fork(): time.sleep(300)",
    "a daemon": "if not os.fork(): os.setsid(); time.sleep(300)",
}


@pytest.mark.parametrize(
    ("left", "words"),
    [("a child", ()), ("a fork", ()), ("a daemon", ()), ("a daemon", ("-j", "2"))],
)
def test_nobody_waits_for_what_an_engine_has_started(project: Path, left: str, words: tuple[str, ...]) -> None:
    """Nor does whoever reads the output: a pipe that something holds open has no end."""
    name = engine(project, in_exp=f"{ONLY_THERE}\n    {LEAVES[left]}\n    time.sleep(300)")
    begin = time.monotonic()
    code, report, _ = run("--engine", name, "--timeout", "3", *words)
    assert time.monotonic() - begin < 150
    assert (code, statuses(report)) == (3, ["passed", "crashed", "passed"])
    assert report["cases"][1]["errors"][0]["kind"] == "timeout"


def test_what_is_left_after_a_run_ends_with_it(project: Path) -> None:
    name = engine(project, at_import=f"if True:\n    {LEAVES['a daemon']}")
    begin = time.monotonic()
    code, report, _ = run("--engine", name)
    assert time.monotonic() - begin < 150
    assert (code, statuses(report)) == (0, ["passed"] * 3)


ENDLESS = {
    "Thread-1 (spin)": "threading.Thread(target=spin).start()",
    "ThreadPoolExecutor-0_0": "POOL = ThreadPoolExecutor(2); POOL.submit(time.sleep, 300)",
    "ForkProcess-1": "multiprocessing.get_context('fork').Process(target=spin).start()",
}
WITH_THREADS = """
import atexit, multiprocessing, threading
from concurrent.futures import ThreadPoolExecutor
def spin():
    while True: time.sleep(0.1)
atexit.register(lambda: open("handled", "a").write("once"))
"""


def _run_alone(name: str, *words: str) -> tuple[int, str, str]:
    """Run in a process that ends as Python does, not as the tests' server of processes."""
    words = ("run", "cases", "--engine", name, "--output-format", "json", *words)
    process = start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=150)
    finally:
        process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("left", "words"), [*((left, ()) for left in ENDLESS), ("Thread-1 (spin)", ("--timeout", "60"))]
)
def test_a_command_does_not_wait_for_endless_threads(project: Path, left: str, words: tuple[str, ...]) -> None:
    wrong = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 3 * x}\n"
    (project / "cases" / "wrong.yaml").write_text(wrong, encoding="utf-8")
    name = engine(project, at_import=WITH_THREADS + ENDLESS[left])
    code, out, err = _run_alone(name, *words)
    assert (code, json.loads(out)["summary"]["failed"]) == (1, 1)
    assert f"gradcheck: exits without waiting for {left}, which an engine has started" in err
    assert (project / "handled").read_text() == "once"


@pytest.mark.parametrize("register", ["atexit.register", "threading._register_atexit"])
def test_a_command_does_not_wait_for_endless_exit_handlers(project: Path, register: str) -> None:
    name = engine(project, at_import=f"import atexit, threading, time\n{register}(time.sleep, 1e6)")
    code, out, err = _run_alone(name)
    assert (code, json.loads(out)["summary"]["passed"]) == (0, 3)
    assert "gradcheck: exits without waiting for exit handlers, which an engine has registered" in err


def test_a_command_waits_for_threads_that_end(project: Path) -> None:
    ending = "threading.Thread(target=time.sleep, args=(3,)).start(); POOL = ThreadPoolExecutor(2); POOL.submit(int)"
    code, _, err = _run_alone(engine(project, at_import=WITH_THREADS + ending))
    assert (code, err, (project / "handled").read_text()) == (0, "", "once")


# Engines that fork -------------------------------------------------------------------------------------

FORKS_ONCE = """
IS_FORK = False
def fork_once():
    global IS_FORK
    try:
        os.close(os.open("forked", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    IS_FORK = not os.fork()
    return True
"""


@pytest.mark.parametrize("words", [(), ("-j", "2"), ("--timeout", "60")])
@pytest.mark.parametrize("slower", ["IS_FORK", "not IS_FORK"])
def test_a_fork_that_returns_reports_nothing(project: Path, slower: str, words: tuple[str, ...]) -> None:
    """Whichever of the two is first. What the original finds wrong in the one case, the fork would find right."""
    name = engine(
        project,
        at_import=FORKS_ONCE,
        in_exp=f"{ONLY_THERE}\n    if fork_once() and {slower}: time.sleep(2)\n    if not IS_FORK: found = found * 1.5",
    )
    code, report, err = run("--engine", name, *words)
    assert (code, statuses(report), err) == (1, ["passed", "failed", "passed"], "")


@pytest.mark.parametrize("where", ["at_import", "in_backward"])
def test_so_does_one_that_streams_or_tries_the_engine_alone(project: Path, where: str) -> None:
    forking = {"at_import": FORKS_ONCE, where: f"{FORKS_ONCE}\nfork_once()" if where == "at_import" else "fork_once()"}
    name = engine(project, **forking)
    code, out, err = call("run", "cases", "--engine", name, "--output-format", "json-lines")
    assert (code, err) == (0, "")
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["begin", "case", "case", "case", "end"]
    (project / "forked").unlink()
    _, out, _ = call("conform", name, "--op", "exp", "--json")
    assert json.loads(out)["engine"]


def test_a_fork_that_raises_reports_nothing(project: Path) -> None:
    name = engine(project, at_import=f"{FORKS_ONCE}\nif fork_once() and IS_FORK: raise Odd()")
    code, report, err = run("--engine", name)
    assert (code, statuses(report), err) == (0, ["passed"] * 3, "")


FORKED_WELL = {
    "by the system": "forked = os.fork()\nif not forked: os._exit(7)\n"
    "assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 7",
    "by a library": "import multiprocessing\nforked = multiprocessing.get_context('fork').Pool(1)\n"
    "found, = forked.map(np.exp, [self.data])\nforked.close()\nforked.join()",
}


@pytest.mark.parametrize(
    ("forked", "words"), [("by the system", ()), ("by the system", ("-j", "2")), ("by a library", ())]
)
def test_a_fork_that_does_its_own_work_is_let_alone(project: Path, forked: str, words: tuple[str, ...]) -> None:
    name = engine(project, in_exp=f"{ONLY_THERE}\n{indent(FORKED_WELL[forked], '    ')}")
    code, report, err = run("--engine", name, *words)
    assert (code, statuses(report), err) == (0, ["passed"] * 3, "")


# Exceptions that say nothing ---------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("-j", "2")])
def test_an_exception_without_words_costs_its_case(project: Path, words: tuple[str, ...]) -> None:
    name = engine(project, in_exp=ONLY_THERE + "raise Odd()")
    code, report, err = run("--engine", name, *words)
    assert (code, statuses(report), err) == (0, ["passed", "unsupported", "passed"], "")
    assert ".exp() raised Odd" in json.dumps(report["cases"][1])


def test_an_exception_without_a_class_costs_its_case(project: Path) -> None:
    unclassed = "class Unclassed(Exception):\n    __class__ = property(lambda self: 1 / 0)\n"
    name = engine(project, at_import=unclassed, in_exp=ONLY_THERE + "raise Unclassed()")
    code, report, _ = run("--engine", name)
    assert (code, statuses(report)[::2]) == (1, ["passed"] * 2)
    assert statuses(report)[1] != "passed"


def test_an_engine_that_spoils_the_process_is_run_again_in_others(project: Path) -> None:
    does = "resource.setrlimit(resource.RLIMIT_DATA, (2**33, 2**33))"
    _, report, err = run("--engine", engine(project, at_import="import resource", in_exp=ONLY_THERE + does))
    assert statuses(report)[::2] == ["passed"] * 2
    assert "every case is checked again" in err


def test_what_an_engine_writes_to_a_pipe_is_no_exit_code(project: Path) -> None:
    write = "for fd in range(3, 20):\n    try: os.write(fd, b'\\0HELLO')\n    except OSError: pass\n"
    (project / "cases" / "wrong.yaml").write_text("inputs: {x: 1}\ngraph: {y: x * x}\nformulas: {x: 3 * x}\n")
    name = engine(project, at_import=f"import os\n{write}")
    assert call("run", "cases", "--engine", name, "--output-format", "concise")[0] == 1


@pytest.mark.parametrize("words", [(), ("-j", "2"), ("--timeout", "60")])
@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "GeneratorExit"])
def test_an_interrupt_that_an_engine_raises_costs_its_case(project: Path, raised: str, words: tuple[str, ...]) -> None:
    name = engine(project, in_exp=ONLY_THERE + f"raise {raised}")
    code, report, err = run("--engine", name, *words)
    assert (code, statuses(report), err) == (1, ["passed", "failed", "passed"], "")
    assert raised in report["cases"][1]["errors"][0]["message"]


@pytest.mark.parametrize("kind", ["Exception", "ImportError", "NotImplementedError", "TypeError", "MemoryError"])
@pytest.mark.parametrize("where", ["at_import", "in_exp", "in_backward"])
def test_of_whatever_kind_and_wherever(project: Path, where: str, kind: str, gradcheck: Any) -> None:
    text = f"Odd.__bases__ = ({kind},)" if kind == "Exception" else f"Odd = type('Odd', ({kind},), dict(Odd.__dict__))"
    engine(project, at_import=f"{text}\n{'raise Odd()' if where == 'at_import' else ''}")
    if where != "at_import":
        engine(project, at_import=text, **{where: "raise Odd()"})
    commands = [("run", "cases", "--engine", "own.py:Tensor"), ("conform", "own.py:Tensor", "--op", "exp")]
    if where == "in_exp" and kind not in ("Exception", "MemoryError"):
        commands.pop()  # the kit takes most of the time
    for words in commands:
        outcome = gradcheck(*words)
        assert outcome.code in (0, 1, 2, 3, 5), outcome.err
        assert "its own fault" not in outcome.err + outcome.out
        assert "no words" not in outcome.err + outcome.out


# Signals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "format_", "code"),
    [(signal.SIGINT, "json-lines", 130), (signal.SIGTERM, "json-lines", 143), (signal.SIGTERM, "full", 143)],
)
def test_a_signal_ends_the_process_that_works(project: Path, number: int, format_: str, code: int) -> None:
    """And no other one takes its place, as where a library crashes."""
    name = engine(project, in_exp=f"{ONLY_THERE}open('there', 'w').close(); time.sleep(300)")
    process = start(
        "run",
        "cases",
        "--engine",
        name,
        "--output-format",
        format_,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        while not (project / "there").exists():
            time.sleep(0.1)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == code, err


def test_the_process_that_works_ends_with_the_one_that_watches(project: Path) -> None:
    name = engine(project, in_exp=f"{ONLY_THERE}open('there', 'w').write(str(os.getpid())); time.sleep(300)")
    process = start("run", "cases", "--engine", name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (project / "there").exists() or not (project / "there").read_text():
        time.sleep(0.1)
    process.kill()
    process.wait(120)
    worker = int((project / "there").read_text())
    for _ in range(1200):
        if not Path(f"/proc/{worker}").exists() or "State:\tZ" in Path(f"/proc/{worker}/status").read_text():
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("it is still there")


# Libraries that crash or print, without any code of somebody -------------------------------------------

WITH_ODD_LAPACK = """
import os, sys
from gradcheck.autograd.ops.common import lapack
from gradcheck.checks.conformance import properties
properties.NODES = 1_500
original = lapack.inv
def odd(A):
    {does}
    return original(A)
lapack.inv = odd
from gradcheck.cli import main
main(left_with=[])
"""


def call_with_odd_lapack(does: str, *words: str) -> tuple[int, str, str]:
    done = run_python("-c", WITH_ODD_LAPACK.format(does=does), *words)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def inverse(project: Path) -> Path:
    file = project / "cases" / "inverse.yaml"
    file.write_text("inputs: {x: [[2, 1], [1, 3]]}\ngraph: {y: linalg.inv(x).sum()}\n", encoding="utf-8")
    return file


def test_a_library_that_crashes_costs_no_other_case(inverse: Path) -> None:
    """Here it crashes in the first process only: the second one has a LAPACK that works."""
    code, out, err = call_with_odd_lapack("os.abort()", "run", "cases", "--output-format", "json")
    assert (code, statuses(json.loads(out))) == (0, ["passed"] * 4)
    assert "the process has ended by the signal SIGABRT before its report was written" in err


@pytest.mark.parametrize("words", [("snapshot", "cases"), ("conform", "core", "--op", "linalg.inv")])
def test_where_a_library_crashes_that_is_told(inverse: Path, words: tuple[str, ...]) -> None:
    code, _, err = call_with_odd_lapack("os.abort()", *words)
    assert code == 3
    assert "the process has ended by the signal SIGABRT before its report was written" in err


@pytest.mark.parametrize(
    "words",
    [
        ("run", "cases/inverse.yaml", "--no-cache", "--output-format", "json"),
        ("conform", "core", "--op", "linalg.inv", "--json"),
        ("trace", "cases/inverse.yaml"),
        ("explain", "cases/inverse.yaml"),
        ("snapshot", "cases/inverse.yaml"),
    ],
)
def test_what_a_library_prints_is_no_part_of_results(inverse: Path, words: tuple[str, ...]) -> None:
    code, out, err = call_with_odd_lapack('os.write(1, b"spoilt")', *words)
    assert code in (0, 1), err
    assert out
    assert "spoilt" not in out
    assert "spoilt" in err
