"""`--lf` and `--ff`: what failed last, from run to run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gradcheck.cli.last_failed import read_last_failed

STATE = Path(".gradcheck_cache", "last-failed.json")
QUICK = ("--no-shrink", "--output-format", "json")


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key of its own, outside the project."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


def names(outcome: Any) -> list[str]:
    return [case["name"] or case["file"] for case in json.loads(outcome.out)["cases"]]


def test_a_run_in_which_all_is_well_leaves_nothing(cases: Path, gradcheck: Any) -> None:
    gradcheck("run")
    assert not Path(".gradcheck_cache").exists()


def test_what_failed_runs_again_until_it_is_mended(wrong: Path, bad: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK)
    assert read_last_failed() == {"cases/bad.yaml", "cases/wrong.yaml::a wrong derivation"}
    assert Path(".gradcheck_cache", ".gitignore").read_text() == "*\n"
    assert names(gradcheck("run", "--lf", *QUICK)) == ["cases/bad.yaml", "a wrong derivation"]
    assert len(names(gradcheck("run", "cases/good.yaml", *QUICK))) == 2
    assert len(read_last_failed()) == 2
    wrong.write_text(wrong.read_text().replace("3 * x", "2 * x"))
    bad.write_text("inputs: {x: 1}\ngraph: {y: x + x}\n")
    assert names(gradcheck("run", "--lf", *QUICK)) == ["bad", "a wrong derivation"]
    assert read_last_failed() == frozenset()
    outcome = gradcheck("run", "--lf", *QUICK)
    assert len(names(outcome)) == 4
    assert outcome.err == "--lf: none of these cases is known to have failed: all are checked\n"


def test_a_list_that_comes_with_a_project_is_not_believed(
    wrong: Path, gradcheck: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of cases that pass would leave out the one that fails."""
    STATE.parent.mkdir()
    good = ["cases/good.yaml::squares"]
    forgeries = [good, {"failed": good, "signature": "0" * 64}, {"failed": good}]
    for forged in forgeries:
        STATE.write_text(json.dumps(forged))
        assert gradcheck("run", "--lf", *QUICK).code == 1
    gradcheck("run", "cases/good.yaml", *QUICK)
    STATE.unlink()
    gradcheck("run", *QUICK)
    signed = json.loads(STATE.read_text())
    STATE.write_text(json.dumps(signed | {"failed": good}))
    assert read_last_failed() == frozenset()
    STATE.write_text(json.dumps(signed))
    assert read_last_failed() == {"cases/wrong.yaml::a wrong derivation"}
    (home / "gradcheck" / "secret").write_bytes(b"x" * 32)  # another user
    assert read_last_failed() == frozenset()


def test_a_signed_list_of_another_folder_is_not_believed(wrong: Path, folder: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK)
    assert read_last_failed()
    moved = STATE.read_text()
    (folder / "other").mkdir()
    os.chdir(folder / "other")
    STATE.parent.mkdir()
    STATE.write_text(moved)
    assert read_last_failed() == frozenset()


def test_a_key_in_the_project_signs_nothing(
    wrong: Path, folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "mine"))
    gradcheck("run", *QUICK)
    assert not STATE.exists()


def test_cases_that_are_left_out_are_counted(wrong: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK)
    outcome = gradcheck("run", "--lf", *QUICK)
    assert outcome.err == "--lf: 2 cases not known to have failed, and not checked\n"


def test_a_new_file_that_cannot_be_read_is_not_left_out(wrong: Path, cases: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK)
    (cases / "new.yaml").write_text("inputs: [")
    assert names(gradcheck("run", "--lf", *QUICK)) == ["cases/new.yaml", "a wrong derivation"]


def test_what_failed_runs_first(wrong: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK)
    assert names(gradcheck("run", "--ff", "-x", *QUICK)) == ["a wrong derivation"]
    assert names(gradcheck("run", "--ff", *QUICK)) == ["a wrong derivation", "squares", "a product"]


def test_files_that_are_gone_are_forgotten(wrong: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK)
    wrong.unlink()
    gradcheck("run", *QUICK)
    assert read_last_failed() == frozenset()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1, 2]", "{}", "\x00", '["a"]', '{"failed": [1], "signature": 2}', '{"failed": [], "signature": "é"}'],
)
def test_a_memory_that_is_damaged_is_none(cases: Path, gradcheck: Any, text: str) -> None:
    STATE.parent.mkdir()
    STATE.write_text(text)
    assert read_last_failed() == frozenset()
    assert gradcheck("run", "--lf", *QUICK).code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only_is_no_matter(wrong: Path, folder: Path, gradcheck: Any) -> None:
    folder.chmod(0o500)
    try:
        assert gradcheck("run", *QUICK).code == 1
    finally:
        folder.chmod(0o700)


def test_where_it_cannot_be_written_nothing_is_told(wrong: Path, folder: Path, gradcheck: Any) -> None:
    (folder / ".gradcheck_cache").write_text("a file")
    outcome = gradcheck("run", *QUICK)
    assert (outcome.code, outcome.err) == (1, "")
