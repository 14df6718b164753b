"""`gradcheck init`: a first case that is right, all that a repository needs, and never over another file."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from gradcheck import project_links
from gradcheck.checks.isolation.time_limit import deadline
from tests.paths import ROOT

WRITTEN = [
    "cases/first.yaml", ".github/workflows/gradcheck.yml", ".pre-commit-config.yaml", ".vscode/settings.json",
    ".vscode/gradcheck.schema.json",
]  # fmt: skip


def test_all_of_it_is_told_and_works(folder: Path, gradcheck: Any) -> None:
    (folder / ".git").mkdir()
    outcome = gradcheck("init")
    assert (outcome.code, outcome.out.splitlines()) == (
        0, [*(f"wrote {name}" for name in WRITTEN), "try it: gradcheck run"],
    )  # fmt: skip
    case = folder / "cases" / "first.yaml"
    assert "# sizes" in case.read_text()
    steps = yaml.safe_load((folder / WRITTEN[1]).read_text())["jobs"]["gradcheck"]["steps"]
    (command,) = (step["run"] for step in steps if step.get("run", "").startswith("gradcheck"))
    checked = gradcheck(*shlex.split(command.replace("-j auto", "-v"))[1:])
    assert (checked.code, checked.out) == (0, "1 passed in " + checked.out.removeprefix("1 passed in "))
    setting = json.loads((folder / WRITTEN[3]).read_text())["yaml.schemas"]
    assert list(setting) == ["./.vscode/gradcheck.schema.json"]
    jsonschema.validate(yaml.safe_load(case.read_text()), json.loads((folder / WRITTEN[4]).read_text()))
    for repository in yaml.safe_load((folder / WRITTEN[2]).read_text())["repos"]:
        assert [hook["entry"] for hook in repository["hooks"]] == ["gradcheck validate", "gradcheck run --quiet"]


def test_what_is_there_stays_and_is_told_what_to_add(folder: Path, gradcheck: Any) -> None:
    for name in WRITTEN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# mine\n")
    outcome = gradcheck("init")
    assert (outcome.code, "wrote" in outcome.out) == (0, False)
    assert all((folder / name).read_text() == "# mine\n" for name in WRITTEN)
    assert "cases has cases already" in outcome.out
    assert ".pre-commit-config.yaml is there already, and stays\nto have the hooks, add below 'repos:'\n" in outcome.out
    assert 'to have its help, add "yaml.schemas": {"./.vscode/' in outcome.out


@pytest.mark.parametrize("path", ["../elsewhere", "{above}/elsewhere", "link/below"])
def test_a_configuration_makes_no_folder_outside_of_its_project(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    clone = folder / "clone"
    clone.mkdir()
    (clone / "link").symlink_to(folder)
    path = path.format(above=folder)
    (clone / "gradcheck.toml").write_text(f"paths = ['{path}']\n")
    monkeypatch.chdir(clone)
    outcome = gradcheck("init")
    assert (outcome.code, outcome.out) == (2, "")
    assert "for cases, outside of" in outcome.err
    assert sorted(os.listdir(folder)) == ["clone"]
    assert sorted(os.listdir(clone)) == ["gradcheck.toml", "link"]
    assert gradcheck("init", "--isolated").code == 0
    assert sorted(os.listdir(folder)) == ["clone"]
    assert (clone / "cases" / "first.yaml").exists()
    if not path.startswith("link"):
        monkeypatch.setenv("GRADCHECK_PATHS", path)
        assert gradcheck("init").code == 0
        assert (folder / "elsewhere" / "first.yaml").exists()


@pytest.mark.parametrize("path", [".git/rebase-merge", "venv/lib", "inner/cases"])
def test_a_configuration_makes_no_folder_that_a_clone_does_not_contain(folder: Path, gradcheck: Any, path: str) -> None:
    """A folder of this name in `.git` blocks git."""
    for marker in (".git/HEAD", "venv/pyvenv.cfg", "inner/pyproject.toml"):
        (folder / marker).parent.mkdir()
        (folder / marker).touch()
    (folder / "gradcheck.toml").write_text(f"paths = ['{path}']\n")
    assert gradcheck("init").code == 2
    assert not (folder / path).exists()


def test_a_configured_report_is_no_case_to_write(folder: Path, gradcheck: Any) -> None:
    (folder / "gradcheck.toml").write_text("output = 'report.yaml'\n")
    assert gradcheck("init").code == 0
    assert not (folder / "report.yaml").exists()


def test_in_a_part_of_a_repository_what_belongs_to_its_root_goes_there(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git").mkdir()
    part = folder / "libs" / "a.b"
    part.mkdir(parents=True)
    monkeypatch.chdir(part)
    (part / "gradcheck.toml").write_text('paths = ["proofs"]\n')
    assert gradcheck("init").out.splitlines()[:2] == [
        "wrote proofs/first.yaml", "wrote ../../.github/workflows/gradcheck.yml",
    ]  # fmt: skip
    job = yaml.safe_load((folder / WRITTEN[1]).read_text())["jobs"]["gradcheck"]
    assert job["defaults"]["run"]["working-directory"] == "libs/a.b"
    hooks = yaml.safe_load((folder / WRITTEN[2]).read_text())["repos"][0]["hooks"]
    assert hooks[0]["files"] == r"^(libs/a\.b/proofs)/.*\.(?i:ya?ml)$|^libs/a\.b/.*\.gradcheck\.(?i:ya?ml)$"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_repository_of_another_user_gets_no_files(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one in `/tmp`, above the folders of others."""
    (folder / ".git").mkdir()
    (folder / "mine").mkdir()
    monkeypatch.chdir(folder / "mine")
    known = project_links._owners
    monkeypatch.setattr(project_links, "_owners", lambda path: {4711} if Path(path) == folder / ".git" else known(path))
    assert gradcheck("init").code == 0
    assert sorted(os.listdir(folder)) == [".git", "mine"]
    assert all((folder / "mine" / name).is_file() for name in WRITTEN)


def test_a_folder_that_cannot_be_written_is_told(folder: Path, gradcheck: Any) -> None:
    (folder / ".github").write_text("a file")
    outcome = gradcheck("init")
    assert (outcome.code, outcome.out) == (2, "wrote cases/first.yaml\n")
    assert "cannot write '.github/workflows/gradcheck.yml'" in outcome.err


def test_a_pipe_in_place_of_a_file_stays_and_is_not_waited_for(folder: Path, gradcheck: Any) -> None:
    os.mkfifo(folder / ".pre-commit-config.yaml")
    with deadline(60):
        outcome = gradcheck("init")
    assert outcome.code == 0
    assert ".pre-commit-config.yaml is there already, and stays\nto have the hooks, add" in outcome.out


def test_new_is_another_name_for_it(folder: Path, gradcheck: Any) -> None:
    outcome = gradcheck("new", "my_case.yaml")
    assert (outcome.code, outcome.out) == (0, "wrote my_case.yaml\ntry it: gradcheck run my_case.yaml\n")
    assert "name: my case\n" in (folder / "my_case.yaml").read_text()
    assert [path.name for path in folder.iterdir()] == ["my_case.yaml"]
    assert "2 formulas proved" in gradcheck("run", "my_case.yaml").out


@pytest.mark.parametrize(("file", "said"), [("there.yaml", "is there already"), ("x.txt", "end in .yaml or .yml")])
def test_what_it_does_not_write(folder: Path, gradcheck: Any, file: str, said: str) -> None:
    (folder / "there.yaml").write_text("mine")
    outcome = gradcheck("init", file)
    assert outcome.code == 2
    assert said in outcome.err
    assert (folder / "there.yaml").read_text() == "mine"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere, names of files are text")
def test_a_file_whose_name_is_no_text(folder: Path, gradcheck: Any) -> None:
    outcome = gradcheck("init", os.fsdecode(b"\xff.yaml"))
    assert (outcome.code, outcome.err) == (0, "")
    assert gradcheck("run", os.fsdecode(b"\xff.yaml")).code == 0


def test_a_folder_is_no_expression_of_the_workflow_and_no_command(folder: Path, gradcheck: Any) -> None:
    below = folder / "${{ github.token }}"
    (folder / ".git").mkdir()
    below.mkdir()
    os.chdir(below)
    gradcheck("init")
    text = (folder / ".github" / "workflows" / "gradcheck.yml").read_text()
    assert "working-directory: \"${{ '${{' }} github.token }}\"" in text
    assert gradcheck("init", "$(touch ran).yaml").out.endswith("try it: gradcheck run '$(touch ran).yaml'\n")
    assert "gradcheck run '$(touch ran).yaml' " in Path("$(touch ran).yaml").read_text()
    assert gradcheck("init", "--", "-x.yaml").out.endswith("try it: gradcheck run ./-x.yaml\n")


@pytest.mark.parametrize("name", ["\U0001f600", 'a"b', "a\nb", "\u202eb", "a\\U00000041"])
def test_a_folder_of_any_name_is_read_back_from_the_files(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / ".git").mkdir()
    (folder / name).mkdir()
    monkeypatch.chdir(folder / name)
    gradcheck("init")
    workflow = yaml.safe_load((folder / ".github/workflows/gradcheck.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["gradcheck"]["defaults"]["run"]["working-directory"] == name
    (repo,) = yaml.safe_load((folder / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert re.match(repo["hooks"][0]["files"], f"{name}/cases/first.yaml")


KERNEL = """
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.tanh(x) * w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        t = torch.tanh(x)
        return g * w * (1 - t * t), g * t
"""


def test_a_case_of_your_own_thing_runs(folder: Path, gradcheck: Any) -> None:
    (folder / "kernel.py").write_text(f"import torch\n{KERNEL}")
    (folder / "tensor.py").write_text((ROOT / "tests" / "reports" / "home_made.py").read_text())
    for options in (
        ("formula.yaml", "--formula", "loss = (tanh(X @ w) ** 2).sum()", "--shape", "X=n,3"),
        ("below/code.yaml", "--function", "kernel.py:Scaled.apply"),
        ("other.yaml", "--function", "kernel.py:Scaled", "--formula", "tanh(x) * w"),
        ("class.yaml", "--engine", "tensor.py:Tensor"),
    ):
        written = gradcheck("init", *options)
        assert (written.code, written.err) == (0, ""), options
        name, command = written.out.splitlines()
        assert name == f"wrote {options[0]}"
        checked = gradcheck(*shlex.split(command.removeprefix("try it: "))[1:])
        assert (checked.code, "1 passed" in checked.out) == (0, True), checked.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "a.py:T", "--formula", "x * x"), "--engine goes with no other case"),
        (("--engine", "a.py:T", "--shape", "x=3"), "--shape is of a tensor of --formula or --function"),
        (("--function", "kernel:f"), "'kernel:f' names no code"),
        (("--function", "absent.py:f"), "cannot read 'absent.py'"),
        (("--formula", "x @"), "the expression ends too early"),
        (("--formula", "x * x", "--shape", "x=-"), "'x=-' is no shape"),
    ],
)
def test_what_makes_no_case_is_refused_and_writes_nothing(
    folder: Path, gradcheck: Any, options: tuple[str, ...], message: str
) -> None:
    outcome = gradcheck("init", *options)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert list(folder.iterdir()) == []
