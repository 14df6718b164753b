"""Where reproductions are kept."""

from __future__ import annotations

from pathlib import Path

from gradcheck.cli.cache import keep


def test_the_same_id_gets_the_same_file_another_another(folder: Path) -> None:
    first = keep("cases/a.yaml::two words", "name: a\n")
    assert keep("cases/a.yaml::two words", "name: b\n") == first
    assert keep("cases/b.yaml::two words", "name: c\n") != first
    assert Path(first).read_text() == "name: b\n"
    assert Path(first).name.startswith("two-words-")


def test_version_control_does_not_see_it(folder: Path) -> None:
    path = Path(keep("a::b", "name: a\n"))
    assert (folder / path.parts[0] / ".gitignore").read_text() == "*\n"


def test_where_nothing_can_be_written_there_is_none(folder: Path) -> None:
    (folder / ".gradcheck_cache").write_text("a file")
    assert keep("a::b", "name: a\n") == ""
