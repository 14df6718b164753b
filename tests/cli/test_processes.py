"""The command line as a process: what it imports, closed pipes, full disks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gradcheck.__main__ import _leave_working_directory
from tests.paths import ROOT
from tests.processes import run_python


def start(*arguments: str, options: tuple[str, ...] = (), **kwargs: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *options, "-m", "gradcheck", *arguments]
    return subprocess.Popen(command, text=True, env=environment | kwargs.pop("env", {}), **kwargs)


def call(*arguments: str, env: Mapping[str, str] = MappingProxyType({})) -> tuple[int, str, str]:
    done = run_python("-m", "gradcheck", *arguments, env={**os.environ, **env})
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments", [("--help",), ("run", "-h"), ("validate",), ("list",), ("schema",), ("ops", "tanh")]
)
def test_light_commands_import_nothing_heavy(cases: Path, arguments: tuple[str, ...]) -> None:
    process = start(*arguments, options=("-X", "importtime"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0
    imported = {line.rpartition("|")[2].strip() for line in err.splitlines() if line.startswith("import time:")}
    assert "gradcheck.cli" in imported
    assert not imported & {"torch", "rich", "rich.console", "jinja2"}
    if arguments[0] in ("validate", "list"):  # no graph is made, and nothing is written
        assert not imported & {"gradcheck.autograd.tensor", "gradcheck.autograd.ops.layers", "tempfile", "difflib"}
    if "-h" in arguments or "--help" in arguments:
        assert not imported & {"numpy", "yaml"}


@pytest.mark.skipif(os.name == "nt", reason="PATH is not all that Windows searches")
@pytest.mark.parametrize("path", ["{}:", ":{}", ".:{}:tools"])
def test_no_program_of_the_folder_is_started(cases: Path, path: str) -> None:
    """tinygrad ran a `clang` of it, and a report asks `uname`."""
    for planted in (Path("planted"), Path("tools/planted")):
        planted.parent.mkdir(exist_ok=True)
        planted.write_text("#!/bin/sh\ntouch ran\n")
        planted.chmod(0o755)
    Path("starts.py").write_text(
        "import os, subprocess\nfrom gradcheck.engines.core import Core as Engine\n"
        "try:\n    subprocess.run(['planted'])\nexcept FileNotFoundError:\n    open('asked', 'w').close()\n"
    )
    call("run", "--engine", "starts.py:Engine", env={"PATH": path.format(os.environ["PATH"])})
    assert Path("asked").exists()
    assert not Path("ran").exists()


def test_a_reader_that_leaves_is_no_error(cases: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    process = start("ops", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, err = process.communicate(timeout=200)
    assert (process.returncode, err) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_in_a_line(cases: Path) -> None:
    with open("/dev/full", "w") as full:
        process = start("list", stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=200)
    assert process.returncode == 2
    assert err == "gradcheck: cannot write to the standard output: No space left on device\n"


def test_an_ascii_terminal_gets_escapes(cases: Path) -> None:
    (cases / "wide.yaml").write_text("name: 梯度\ninputs: {x: 1}\ngraph: {y: x + x}\n", encoding="utf-8")
    process = start("list", "cases/wide.yaml", env={"PYTHONIOENCODING": "ascii"}, stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=200)
    assert (process.returncode, out) == (0, "cases/wide.yaml::\\u68af\\u5ea6\n")


LEAVING = """
import atexit, os, sys
{before}
from gradcheck.{where} import main
sys.argv = ["gradcheck", *{words!r}]


class Late:
    def __del__(self, write=os.write):
        write(2, b"taken apart")


sys.last_value = Late()  # which is the first that Python lets go
try:
    main()
finally:
    atexit.register(lambda: print("later", file=sys.stderr))
"""


@pytest.mark.parametrize(
    ("words", "before", "code", "said"),
    [
        (["list"], "", 0, "later\n"),
        (["validate", "nowhere"], "", 2, "later\n"),
        (["list"], "atexit.register(lambda: print('earlier', file=sys.stderr))", 0, "later\nearlier\ntaken apart"),
        (["run", "-q", "--no-cache"], "", 0, "later\n"),
        (["run", "-q", "--no-cache", "-j", "2"], "", 0, "later\ntaken apart"),
        (["run", "-q", "--no-cache", "--allow-code"], "", 0, "later\ntaken apart"),
        (["run", "-q", "--engine", "mine.py:Tensor"], "", 0, "later\ntaken apart"),
    ],
)
def test_modules_are_taken_apart_only_where_somebody_may_count_on_it(
    cases: Path, words: list[str], before: str, code: int, said: str
) -> None:
    Path("mine.py").write_text("from gradcheck import Tensor\n", encoding="utf-8")
    script = LEAVING.format(before=before, words=words, where="__main__")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GRADCHECK_REFERENCE": "core"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=200)
    assert (done.returncode, done.stderr) == (code, said)
    assert done.stdout.endswith("\n")


def test_whoever_goes_on_after_a_command_leaves_as_he_likes(cases: Path) -> None:
    script = LEAVING.format(before="", words=["list"], where="cli").replace("finally:", "except SystemExit:")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", f"{script}\nsys.exit(7)"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert (done.returncode, done.stderr) == (7, "later\ntaken apart")


CUDA = "--xla_gpu_cuda_data_dir=/usr/local/cuda"


@pytest.mark.parametrize(
    ("flags", "expected"), [(None, f"{CUDA} "), ("--some=1", f"{CUDA} --some=1"), ("flags.txt", "flags.txt")]
)
def test_flags_that_are_set_come_last(monkeypatch: pytest.MonkeyPatch, flags: str | None, expected: str) -> None:
    """And a file of flags stays the only one."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, value in (("NODEFAULTCURRENTDIRECTORYINEXEPATH", None), ("XLA_FLAGS", flags)):
        monkeypatch.setenv(name, value or "")
    _leave_working_directory()
    assert os.environ["XLA_FLAGS"] == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("--xla_cpu_enable_fast_math=false", "/usr/local/cuda"), ("--xla_gpu_cuda_data_dir=/opt/cuda", "/opt/cuda")],
)
def test_jax_looks_for_the_compiler_of_a_gpu_elsewhere(cases: Path, flags: str, expected: str) -> None:
    """XLA's own default is a folder of the working directory."""
    pytest.importorskip("jaxlib")
    Path("asks.py").write_text(
        "import os, jaxlib.xla_client\nfrom gradcheck.engines.core import Core as Engine\n"
        "compiling = jaxlib.xla_client.CompileOptions()\nbuilding = compiling.executable_build_options\n"
        "open('folder', 'w').write(building.debug_options.xla_gpu_cuda_data_dir)\n"
        "assert os.environ['NODEFAULTCURRENTDIRECTORYINEXEPATH'] == '1'\n"
    )
    process = start("run", "--engine", "asks.py:Engine", env={"XLA_FLAGS": flags}, stdout=subprocess.PIPE)
    assert "2 passed" in process.communicate(timeout=200)[0]
    assert Path("folder").read_text() == expected


@pytest.mark.skipif(os.name == "nt", reason="the command of Windows is a program")
def test_processes_of_python_without_its_variables_import_nothing_of_the_folder(cases: Path) -> None:
    """The scripts of some distributions begin with `python3 -Es`: what it starts reads no PYTHONSAFEPATH."""
    for name in ("multiprocessing", "socket"):
        Path(f"{name}.py").write_text("open('ran', 'w').close()\n")
    script = cases.parent / "bin" / "gradcheck"
    script.parent.mkdir()
    script.write_text(f"import sys; sys.path.append({str(ROOT)!r})\nfrom gradcheck.__main__ import main; main()\n")
    command = [sys.executable, "-Es", str(script), "run", "-j", "2", "--isolated"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stderr
    assert not Path("ran").exists()


@pytest.mark.parametrize("options", [(), ("-j", "2"), ("--timeout", "60")])
def test_python_that_an_engine_starts_imports_nothing_of_the_folder(cases: Path, options: tuple[str, ...]) -> None:
    """With --isolated, in every process; workers forgot it."""
    Path("json.py").write_text("open('ran', 'w').close()\n")
    engine = cases.parent / "elsewhere" / "starts.py"
    engine.parent.mkdir()
    engine.write_text(
        "import subprocess, sys\nfrom gradcheck.engines.core import Core\n\n"
        "class Engine(Core):\n    name = 'starts'\n\n"
        "    def leaf(self, array, requires_grad):\n"
        "        subprocess.run([sys.executable, '-c', \"import json; open('started', 'w')\"], check=True)\n"
        "        return super().leaf(array, requires_grad)\n"
    )
    process = start("run", "--isolated", *options, "--engine", f"{engine}:Engine", stdout=subprocess.PIPE)
    assert "2 passed" in process.communicate(timeout=200)[0]
    assert (Path("started").exists(), Path("ran").exists()) == (True, False)


#: Python runs this at its start, also in the processes of a command.
NOTES_WHERE_TORCH_IS_IMPORTED = """
import os, sys
def note(event, about):
    if event == "import" and about[0] == "torch._C":
        with open({file!r}, "a") as file:
            print(os.getcwd(), file=file)
sys.addaudithook(note)
"""


@pytest.mark.parametrize(
    "arguments",
    [("run", "-j", "2"), ("conform", "core", "--op", "tanh", "cases"), ("snapshot", "cases"), ("run", "--watch")],
)
def test_torch_is_imported_in_another_folder(cases: Path, arguments: tuple[str, ...]) -> None:
    """Some builds of it load UCX, which takes modules to load and files to write from a `ucx.conf`."""
    folders, start_up = cases.parent / "folders", cases.parent / "startup"
    start_up.mkdir()
    (start_up / "sitecustomize.py").write_text(NOTES_WHERE_TORCH_IS_IMPORTED.format(file=str(folders)))
    environment = {"PYTHONPATH": f"{start_up}{os.pathsep}{ROOT}"}
    process = start(*arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if "--watch" in arguments:
        assert process.stdout is not None
        while "passed" not in process.stdout.readline():
            assert process.poll() is None
        process.terminate()
    process.communicate(timeout=200)
    assert set(folders.read_text().splitlines()) == {os.path.dirname(os.__file__)}


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="the system has no such name")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_the_name_of_the_standard_output_leads_to_it(folder: Path, name: str) -> None:
    """It is reserved for reports, and its number is another file's during a run."""
    (folder / "a.yaml").write_text("inputs: {x: 1}\ngraph: {y: x + x}\n")
    code, out, err = call("run", ".", "--reference", "core", "-o", name)
    assert (code, out.partition("\n")[0], err) == (0, "# a report of gradcheck", "")
