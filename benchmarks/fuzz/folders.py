"""A stranger's folder: links, pipes, odd names, planted modules, configurations of any shape; and what must hold of it.

`python -m benchmarks folders --seconds 600`. Each trial is a number: `--only N` does that one again and keeps its
folder. Every command runs as a process of its own, in a clone beside a home that holds something precious.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.timing import Row
from gradcheck.cli.options import RUN

ROOT = Path(__file__).parents[2]
#: Seconds after which a command is taken to wait for something that never comes.
PATIENCE = 120.0
#: Modules that Python, gradcheck or its libraries import late.
MODULES = (
    *("types", "queue", "random", "signal", "secrets", "statistics", "string", "token", "numbers", "copy", "json"),
    *("numpy", "torch", "scipy", "yaml", "click", "rich", "jinja2", "ml_dtypes", "gradcheck", "sitecustomize"),
    *("usercustomize", "conftest", "jax", "autograd", "mygrad", "difflib", "tomllib", "multiprocessing", "ctypes"),
)
PASSES = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\n"
CASES = (
    PASSES,
    "name: '; touch ran; $(touch ran)'\ninputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 3 * x}\n",
    "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformula: {x: 2 * x}\n",
    "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()\n",
    f"inputs: {{x: 1{'0' * 400}}}\ngraph: {{y: x * x}}\n",
    "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nimplementations: {y: own.py:f}\n",
    "",
    "\0",
)
REPORT = "# a report of gradcheck\n1 passed in 0.1s\n"
BASELINE = '{"gradcheck-baseline": 1, "failures": [\nnull], "agreement": [\nnull]}\n'
#: Keys of the configuration that have code run, or a program started.
CODE = ("engine", "reference", "executor", "allow-code")
#: Places that a command writes to.
PLACES = (
    *(".gradcheck_cache", ".gradcheck_cache/last-failed.json", ".gradcheck_cache/smallest"),
    *(".gradcheck_cache/.gitignore", ".gradcheck_cache/results-0.sqlite", "report.json", "reports", "reports/new"),
    *("known.json", ".github", ".vscode", ".pre-commit-config.yaml", "gradcheck.schema.json", "cases/first.yaml"),
    *("cases/linked.yaml", "cases/inner", "new"),
)
COMMANDS: tuple[tuple[str, ...], ...] = (
    *[("run",)] * 6,
    *(("run", "-o", "report.json", "--output-format", "json"), ("run", "--report", "junit=reports/new/r.xml")),
    *(("run", "--baseline", "known.json"), ("run", "--baseline", "known.json", "--update-baseline")),
    *(("run", "--lf"), ("run", "--ff", "--no-cache"), ("run", "-j", "2", "--no-cache"), ("run", "--timeout", "60")),
    *(("run", "--shrink"), ("run", "--fix"), ("run", "--changed-since", "HEAD"), ("run", "cases/linked.yaml")),
    *(("snapshot",), ("snapshot", "--update"), ("init",), ("init", "new/first.yaml"), ("config",)),
    *(("validate",), ("list",), ("explain", "-k", "first"), ("graph", "cases/a.yaml"), ("trace", "cases/a.yaml")),
)


@dataclass(slots=True)
class Trial:
    """A folder, a command, and what did not hold."""

    number: int
    words: tuple[str, ...] = ()
    isolated: bool = False
    findings: list[str] = field(default_factory=list)


# The folder --------------------------------------------------------------------------------------------


def make(folder: Path, trial: Trial, random: Random) -> None:
    """Make a clone of somebody's, and a home beside it."""
    home, clone = folder / "home", folder / "clone"
    home.mkdir()
    (clone / "cases").mkdir(parents=True)
    (home / ".bashrc").write_text("export PRECIOUS=1\n")
    (home / "empty").touch()
    (home / "case.yaml").write_text(random.choice(CASES[:3]))
    (home / "folder").mkdir()
    (home / "report").write_text(REPORT)
    for name in random.sample(("a", "b", "c", "-k", "with space", "é", "x::y", "new\nline"), random.randint(1, 4)):
        (clone / "cases" / f"{name}.yaml").write_text(random.choice(CASES))
    for place in random.sample(PLACES, random.randint(0, 4)):
        _entry(clone / place, home, random)
    for name in random.sample(MODULES, random.randint(0, 6)):
        _plant(clone, name, folder / "ran", random)
    if random.random() < 0.5:
        _configure(clone / random.choice(("pyproject.toml", "gradcheck.toml")), trial.isolated, folder, random)
    if random.random() < 0.5:
        _repository(clone, folder / "ran", random)


def _entry(path: Path, home: Path, random: Random) -> None:
    """Put something in the way, unless it is in the way of itself."""
    targets = (".bashrc", "empty", "nothing", "folder", "folder/new", "case.yaml", "report", "")
    makers: tuple[Callable[[], object], ...] = (
        *[lambda: path.symlink_to(os.path.relpath(home / random.choice(targets), path.parent))] * 5,
        lambda: path.symlink_to(home / random.choice(targets)),
        lambda: path.symlink_to(path.name),
        lambda: path.symlink_to(random.choice((".git/config", ".git/hooks/pre-commit", "../cases", "."))),
        lambda: os.mkfifo(path),
        lambda: path.mkdir(),
        lambda: path.write_text(random.choice(("mine\n", "", REPORT, BASELINE, "[]\n", '["a"]\n', "\0"))),
        lambda: (path.write_text("mine\n"), path.chmod(0)),
        lambda: (path.mkdir(), path.chmod(0o500)),
        lambda: os.link(home / "report", path),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.resolve().is_relative_to(home) or os.path.lexists(path):
            return
        random.choice(makers)()
    except OSError:
        return


def _plant(clone: Path, name: str, ran: Path, random: Random) -> None:
    code = f"open({str(ran)!r}, 'a').write({name!r} + chr(10))\n"
    below = clone / random.choice((".", ".", "cases"))
    if random.random() < 0.7:
        (below / f"{name}.py").write_text(code)
    else:
        (below / name).mkdir()
        (below / name / "__init__.py").write_text(code)


def _configure(file: Path, isolated: bool, folder: Path, random: Random) -> None:
    """Write a configuration of any shape; one that has code run, only where it is not to be read."""
    (file.parent / "own.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write('own')\nTensor = f = 1\n")
    kind = random.random()
    if kind < 0.1:
        os.mkfifo(file)
    elif kind < 0.15:
        file.mkdir()
    elif kind < 0.2:
        file.symlink_to(folder / "home" / ".bashrc")
    elif kind < 0.3:
        spoilt = (b"\xff\xfe", b"[tool.gradcheck", b"tool = 1", b"[tool]\ngradcheck = []", b"\0")
        file.write_bytes(random.choice(spoilt))
    else:
        keys = [option.key for option in RUN if isolated or option.key not in CODE]
        lines = [f"{key} = {_value(key, random)}" for key in random.sample(keys, random.randint(1, 4))]
        head = "" if file.name == "gradcheck.toml" else "[tool.gradcheck]\n"
        file.write_text(head + "\n".join(lines) + "\n")


def _value(key: str, random: Random) -> str:
    code = {"engine": '["own.py:Tensor"]', "reference": '"own.py:Tensor"', "executor": '"own:f"', "allow-code": "true"}
    if key in code:
        return code[key]
    fitting = {"output": '"report.json"', "report": '["json=report.json"]', "baseline": '"known.json"', "jobs": "2"}
    if key in fitting and random.random() < 0.7:
        return fitting[key]
    if key == "watch":
        return "false"
    values = ("true", "false", "1", "-1", "0", "1e400", "nan", '""', '"x"', "[]", "[[1]]", "{a = 1}", "1979-05-27")
    return random.choice((*values, f"1{'0' * 400}", '["a", 1]', '"\\u0000"'))


def _repository(clone: Path, ran: Path, random: Random) -> None:
    """Commit what there is, in a repository whose configuration names commands."""
    git = ("git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "-A", "cases"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run([*git, *words], capture_output=True, check=False)
    evil = clone / ".git" / "evil"
    evil.write_text(f"#!/bin/sh\necho git >> {ran}\ncat\n")
    evil.chmod(0o755)
    settings = ("core.fsmonitor", "diff.external", "filter.own.clean", "filter.own.process", "core.sshCommand")
    for name in random.sample(settings, 2):
        subprocess.run([*git, "config", name, str(evil)], capture_output=True, check=False)
    (clone / ".git" / "info").mkdir(exist_ok=True)
    (clone / ".git" / "info" / "attributes").write_text("* filter=own\n")


# What must hold ----------------------------------------------------------------------------------------


def tried(trial: Trial, folder: Path) -> Trial:
    """Make the folder, run the command in it, and note what does not hold."""
    random = Random(f"folders/{trial.number}")
    trial.isolated = random.random() < 0.3
    make(folder, trial, random)
    trial.words = random.choice(COMMANDS)
    if trial.isolated and trial.words[0] in ("run", "validate", "list", "snapshot", "explain"):
        trial.words = (*trial.words, "--isolated")
    elif trial.isolated:
        trial.words = ("validate", "--isolated")
    before = state(folder)
    trial.findings += _called(trial, folder)
    trial.findings += _changes(trial, before, state(folder))
    return trial


def _called(trial: Trial, folder: Path) -> Iterator[str]:
    script = Path(sysconfig.get_path("scripts")) / "gradcheck"
    known = {name: value for name, value in os.environ.items() if not name.startswith(("GRADCHECK_", "PYTHON"))}
    try:
        done = subprocess.run(
            [str(script), *trial.words],
            cwd=folder / "clone",
            env={**known, "HOME": str(folder / "home"), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield "it waits for ever"
        return
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode not in (0, 1, 2, 5):
        yield f"exit code {done.returncode}: {said[-300:]}"
    if "Traceback" in said or "its own fault" in said:
        yield f"a crash: {said[-300:]}"
    if (folder / "ran").exists():
        yield f"something ran: {' '.join((folder / 'ran').read_text().split())}"


State = dict[str, tuple[int, bytes | str]]


def state(folder: Path) -> State:
    """Return every entry below a folder: its mode, and its bytes or where it leads."""
    found: State = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content: bytes | str = ""
        if stat.S_ISLNK(about.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(about.st_mode) and (os.geteuid() == 0 or os.access(path, os.R_OK)):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = about.st_mode, content
    return found


def _changes(trial: Trial, before: State, after: State) -> Iterator[str]:
    """Whatever is other than it was, and not for gradcheck to write."""
    for name, known in before.items():
        if after.get(name) != known and not _is_ours(name, known[1], trial):
            yield f"'{name}' was {known!r} and is {after.get(name)!r}"
    for name in after.keys() - before.keys():
        if name.startswith("home/") and not name.startswith("home/.cache"):
            yield f"'{name}' is new"


def _is_ours(name: str, content: bytes | str, trial: Trial) -> bool:
    """Return whether a command may write over this: a report, a baseline, its own lists, a case that it corrects."""
    if name.startswith("home/") or name == "clone/.gradcheck_cache/results-0.sqlite":
        return False
    if name.endswith(".yaml") and ("--fix" in trial.words or trial.words[0] == "snapshot"):
        return True
    ours = (REPORT, BASELINE, "[]\n", '["a"]\n', "")
    return isinstance(content, bytes) and content.decode("utf-8", "replace") in ours


# Sessions ----------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Trials for so many seconds, or one alone; 1 where anything was found."""
    parser = argparse.ArgumentParser("python -m benchmarks folders", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--start", type=int, default=0, metavar="N", help="the number of the first trial")
    parser.add_argument("--only", type=int, metavar="N", help="this trial alone; its folder stays")
    given = parser.parse_args(arguments)
    if given.only is not None:
        folder = Path(tempfile.mkdtemp())
        trial = tried(Trial(given.only), folder)
        print(f"in {folder / 'clone'}: gradcheck {' '.join(trial.words)}", *trial.findings, sep="\n")
        return 1 if trial.findings else 0
    count, wrong = 0, 0
    for trial in session(given.start, given.seconds):
        count += 1
        wrong += bool(trial.findings)
        for found in trial.findings:
            print(f"{trial.number}: {' '.join(trial.words)}: {found}", flush=True)
    print(f"{count} folders, {wrong} of them with findings")
    return 1 if wrong else 0


def rows() -> Iterator[Row]:
    """A minute of it."""
    trials = list(session(0, 60.0))
    found = [one for trial in trials for one in trial.findings]
    yield Row("what strangers' folders do in a minute", f"{len(found)} in {len(trials)}", "nothing", not found, "")


def session(start: int, seconds: float) -> Iterator[Trial]:
    """Trial after trial, from number `start` on."""
    end = time.monotonic() + seconds
    number = start
    while time.monotonic() < end:
        folder = Path(tempfile.mkdtemp())
        try:
            yield tried(Trial(number), folder)
        finally:
            _remove(folder)
        number += 1


def _remove(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
