"""A clone that holds links: no command writes through one that leads out of it, and every run still reports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Gradcheck


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, with a file that is worth something."""
    home = tmp_path_factory.mktemp("home")
    (home / ".bashrc").write_text("export PRECIOUS=1\n")
    (home / "empty").touch()
    return home


@pytest.fixture
def clone(wrong: Path, folder: Path) -> Path:
    """A repository with a case that fails; with links, it is a stranger's."""
    (folder / ".git").mkdir()
    return folder


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


#: A place of the clone where a link stands, the command, and what it says of it.
PLACES = [
    (".gradcheck_cache", ("run",), "is a link"),
    (".gradcheck_cache", ("run", "--lf"), "is a link"),
    (".gradcheck_cache/last-failed.json", ("run",), ""),
    (".gradcheck_cache/.gitignore", ("run",), ""),
    (".gradcheck_cache/smallest", ("run", "--shrink"), ""),
    ("report.json", ("run", "--output-format", "json", "-o", "report.json"), "leads out of"),
    ("report.xml", ("run", "--report", "junit=report.xml"), "leads out of"),
    ("reports", ("run", "--report", "junit=reports/new.xml"), "leads out of"),
    ("reports", ("run", "--report", "junit=reports/deep/new.xml"), "leads out of"),
    ("known.json", ("run", "--baseline", "known.json", "--update-baseline"), "known.json"),
    ("known", ("run", "--baseline", "known/new.json", "--update-baseline"), "leads out of"),
    (".github/workflows", ("init",), "leads out of"),
    (".github", ("init",), "leads out of"),
    (".vscode", ("init",), "leads out of"),
    ("first.yaml", ("init", "first.yaml"), "there already"),
    ("new", ("init", "new/first.yaml"), "leads out of"),
]


def targets(home: Path) -> Iterator[Path]:
    yield from (home / ".bashrc", home / "empty", home / "nothing", home, home / "no" / "folder")


@pytest.mark.parametrize(("place", "words", "said"), PLACES)
def test_no_command_writes_through_a_link(
    clone: Path, outside: Path, gradcheck: Gradcheck, place: str, words: tuple[str, ...], said: str
) -> None:
    for target in targets(outside):
        (clone / place).parent.mkdir(parents=True, exist_ok=True)
        (clone / place).symlink_to(target)
        before = everything(outside)
        outcome = gradcheck(*words)
        assert everything(outside) == before
        assert os.readlink(clone / place) == str(target)
        assert outcome.code in (0, 1, 2), outcome.err
        assert "its own fault" not in outcome.err
        assert said in outcome.err or "cannot write" in outcome.err or target != outside
        if words[0] == "run" and outcome.code != 2:
            assert "1 failed" in outcome.out
        (clone / place).unlink()


@pytest.mark.parametrize("words", [("run", "--fix", "linked.yaml"), ("snapshot", "linked.yaml")])
def test_a_case_file_that_is_a_link_is_read_and_not_written(
    clone: Path, outside: Path, gradcheck: Gradcheck, words: tuple[str, ...]
) -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\n"
    file = outside / "precious.yaml"
    file.write_text(text if words[0] == "snapshot" else text + "formulas: {x: 3 * x}\n")
    (clone / "linked.yaml").symlink_to(file)
    (clone / "own.yaml").write_text(file.read_text())
    before = everything(outside)
    outcome = gradcheck(*words, "own.yaml")
    assert everything(outside) == before
    assert outcome.code == 2
    assert "cannot write 'linked.yaml': a link leads out of" in outcome.err
    assert (clone / "own.yaml").read_text() != file.read_text()  # the others are written all the same


def test_an_own_file_in_the_place_of_a_kept_one_stays(clone: Path, gradcheck: Gradcheck) -> None:
    """What is not of the kind that gradcheck writes there is not written over."""
    gradcheck("run", "--shrink")
    kept = [path for path in (clone / ".gradcheck_cache").rglob("*") if path.suffix in (".json", ".yaml")]
    assert len(kept) == 2
    for path in kept:
        path.write_text("notes of my own\n")
    assert gradcheck("run", "--shrink").code == 1
    assert {path.read_text() for path in kept} == {"notes of my own\n"}


#: A name that no system takes, at the end of a link.
UNREACHABLE = "n" * 300


@pytest.mark.parametrize("place", ["pyproject.toml", "gradcheck.toml", ".git", "cases"])
def test_a_link_to_what_no_file_can_be_called_costs_no_run(
    wrong: Path, folder: Path, gradcheck: Gradcheck, place: str
) -> None:
    wrong.parent.rename(folder / "own")
    (folder / place).symlink_to(UNREACHABLE)
    for words in (("run",), ("run", "own", "--output-format", "github"), ("list", "own"), ("init",), ("config",)):
        outcome = gradcheck(*words)
        assert outcome.code in (0, 1, 2, 5), outcome.err
        assert "its own fault" not in outcome.err


def test_a_baseline_may_name_what_no_file_can_be_called(wrong: Path, folder: Path, gradcheck: Gradcheck) -> None:
    entry = f'{{"case": "{UNREACHABLE}.yaml::a", "what": "gradient"}}'
    (folder / "known.json").write_text(f'{{"gradcheck-baseline": 1, "failures": [{entry}, null]}}\n')
    outcome = gradcheck("run", str(wrong), "--baseline", "known.json", "--update-baseline")
    assert (outcome.code, "wrote 1 known failure" in outcome.err) == (0, True), outcome.err
