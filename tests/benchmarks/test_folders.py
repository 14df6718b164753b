"""The fuzzer of folders: a trial can be done again, and it sees each thing that must not happen."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from benchmarks.fuzz import folders
from benchmarks.fuzz.folders import BASELINE, REPORT, Trial, make, state, tried

#: What a command would do to break a promise, in the clone, and what is said of it.
BREACHES = {
    "echo no >> ../home/.bashrc": "'home/.bashrc' was",
    "touch ../home/new": "'home/new' is new",
    "rm ../home/empty": "'home/empty' was",
    "echo numpy >> ../ran": "something ran: numpy",
    "echo no > cases/a.yaml": "'clone/cases/a.yaml' was",
    "rm -f precious; mkfifo precious": "'clone/precious' was",
    "echo Traceback >&2": "a crash",
    "exit 3": "exit code 3",
    "kill -SEGV $$": "exit code -11",
    "sleep 60": "it waits for ever",
}
#: What commands are there for.
ALLOWED = ("true", "exit 1", "echo 2 passed in 0.1s > report.json", "echo x > known.json", "touch new", "echo hello")


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    def simple(folder: Path, trial: Trial, random: Random) -> None:
        (folder / "home").mkdir()
        for name in (".bashrc", "empty"):
            (folder / "home" / name).write_text("mine")
        (folder / "clone" / "cases").mkdir(parents=True)
        for name, text in {
            "cases/a.yaml": "",
            "precious": "mine",
            "report.json": REPORT,
            "known.json": BASELINE,
        }.items():
            (folder / "clone" / name).write_text(text or folders.PASSES)

    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(folders, "make", simple)
    monkeypatch.setattr(folders, "COMMANDS", (("run",),))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "bin"))
    monkeypatch.setattr(folders, "PATIENCE", 3.0)
    return Trial(1)


def command(folder: Path, script: str) -> Path:
    file = folder / "bin" / "gradcheck"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    (folder / "trial").mkdir()
    return folder / "trial"


@pytest.mark.parametrize("script", BREACHES)
def test_what_must_not_happen_is_found(tmp_path: Path, trial: Trial, script: str) -> None:
    tried(trial, command(tmp_path, script))
    assert any(BREACHES[script] in found for found in trial.findings), trial.findings


@pytest.mark.parametrize("script", ALLOWED)
def test_nothing_else_is(tmp_path: Path, trial: Trial, script: str) -> None:
    assert tried(trial, command(tmp_path, script)).findings == []


def test_a_number_stands_for_one_folder(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        make(tmp_path / name, Trial(0), Random(5))
        without_places = {key: mode for key, (mode, _) in state(tmp_path / name).items() if "/.git/" not in key}
        found.append(without_places)
    assert found[0] == found[1]
