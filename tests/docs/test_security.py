"""docs/security.md: the commands that honour a project's configuration are those of its table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradcheck.checks.conformance import engine_conformance
from gradcheck.cli import review_command
from gradcheck.cli.group import COMMANDS, gradcheck, run_command
from gradcheck.errors import UsageError
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
#: Words without which a command does not begin, or would take long.
WORDS = {
    "explain": ("case.yaml",),
    "trace": ("case.yaml",),
    "graph": ("case.yaml",),
    "conform": ("core", "--op", "exp"),
    "cookbook": ("softmax",),
}
CASE = "inputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\nimplementations: {y: 'own.py:f'}\n"


def honouring(key: str) -> set[str]:
    """Return the commands in the row of a key."""
    (row,) = re.findall(rf"^\| (?:`[\w-]+`, )*`{key}`(?:, `[\w-]+`)* \|.*\| (.*) \|$", PAGE, re.MULTILINE)
    return set(re.findall(r"`([\w-]+)`", row)) & COMMANDS.keys()


def asked_for_nothing(*given: object, **named: object) -> None:
    """Take the place of `conform`, which takes long."""
    raise UsageError("nothing is asked")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADCHECK_ISOLATED", raising=False)
    monkeypatch.setattr(review_command, "is_terminal", lambda stream: True)
    monkeypatch.setattr(engine_conformance, "conform", asked_for_nothing)
    (tmp_path / ".git").mkdir()
    (tmp_path / "case.yaml").write_text(CASE)
    (tmp_path / "own.py").write_text("open('ran', 'w').close()\nraise ImportError  # so that it runs each time\n")
    return tmp_path


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("engine", 'engine = "own.py:X"'),
        ("allow-code", "allow-code = true"),
        ("overrides", '[[overrides]]\npaths = ["case.yaml"]\nreference = "own.py:X"'),
    ],
)
def test_the_commands_that_run_code_of_a_configuration_are_listed(
    project: Path, key: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "gradcheck.toml").write_text(f'paths = ["case.yaml"]\n{line}\n')
    assert {name for name in COMMANDS if _runs_code(project, name)} == honouring(key)
    monkeypatch.setenv("GRADCHECK_ISOLATED", "1")
    assert not any(_runs_code(project, name) for name in honouring(key))


def _runs_code(project: Path, name: str) -> bool:
    run_command(gradcheck, [name, *WORDS.get(name, ())])
    ran = (project / "ran").exists()
    (project / "ran").unlink(missing_ok=True)
    (project / "case.yaml").write_text(CASE)
    return ran


def test_the_commands_that_take_paths_from_a_configuration_are_listed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "farther").mkdir()
    (project / "farther" / "broken.yaml").write_text("inputs: {x: [1, 2]}\ngraphs: {}\n")
    (project / "gradcheck.toml").write_text('paths = ["farther"]\n')
    honour = set()
    for name in COMMANDS.keys() - {"config"}:  # which shows it
        capsys.readouterr()
        run_command(gradcheck, [name, *(() if name == "explain" else WORDS.get(name, ()))])
        honour |= {name} if "farther" in "".join(capsys.readouterr()) else set()
    assert honour == honouring("paths")
