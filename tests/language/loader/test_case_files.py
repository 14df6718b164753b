"""Paths lead to files, each once and in order, and these to cases and errors, up to the limits."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradcheck.errors import InvalidCase
from gradcheck.language.loader import Limits, load, load_text
from gradcheck.language.loader.case_files import Target, discover, read, split_id
from tests.language.loader.cases import VALID, wrong


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b/two.yaml", "b/a/one.yml", "b-c/three.YAML", ".hidden/no.yaml", "b/.git/no.yaml", "b/notes.txt"):
        path = tmp_path / "cases" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(VALID if "yaml" in name.lower() or "yml" in name else "no case")
    return tmp_path


def ids(*paths: str | Path, **options: object) -> list[str]:
    cases, errors = load(paths, **options)  # type: ignore[arg-type]
    assert [str(e) for e in errors] == []
    return [case.id for case in cases]


def test_documents_and_their_names() -> None:
    cases, errors = load_text(f"{VALID}---\n# nothing\n---\n{VALID}---\ninputs: [\n---\n{VALID}...\n", "dir/a.b.yaml")
    assert [case.name for case in cases] == ["a.b", "a.b-2", "a.b-4"]
    assert [case.place.line for case in cases] == [1, 9, 17]
    assert [error.place.line for error in errors] == [15]


def test_a_folder_without_cases_is_no_error(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert (loaded.cases, loaded.errors) == ((), ())


def test_one_case_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(f"name: 'a::b'\n{VALID}---\nname: other\n{VALID}---\nname: broken\ninputs: {{x: 1}}\n")
    assert [case.name for case in load(f"{path}::a::b").cases] == ["a::b"]
    assert load(f"{path}::other").errors == ()
    assert load(f"{path}::broken").errors
    path.write_text(f"name: first one\n{VALID}")
    (error,) = load(f"{path}::first on").errors
    assert (error.message, error.hint) == ("no case is named 'first on'", "did you mean 'first one'?")


def test_selected_ids(folder: Path) -> None:
    assert ids("cases", select=["cases/b/two.yaml::two"]) == ["cases/b/two.yaml::two"]


def test_valid_cases_beside_broken_files(folder: Path) -> None:
    (folder / "cases/b/bad.yaml").write_text("inputs: [")
    cases, errors = load("cases")
    assert len(cases) == 3
    assert [error.place.file for error in errors] == ["cases/b/bad.yaml"]
    assert all(isinstance(error, InvalidCase) for error in errors)


def test_garbage_collection_is_left_as_it_was(tmp_path: Path) -> None:
    assert gc.isenabled()
    load(tmp_path)
    assert gc.isenabled()
    gc.disable()
    try:
        load(tmp_path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_loading_imports_no_torch() -> None:
    code = "import sys; from gradcheck.language import loader, sampling; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_errors_are_capped_and_counted() -> None:
    _, errors = load_text("".join(f"k{i}: 1\n" for i in range(150)) + VALID, "f.yaml", Limits(errors=10))
    assert len(errors) == 11
    assert str(errors[-1]) == "f.yaml: and 140 more errors in this file"


def test_after_a_thousand_errors_a_file_is_read_no_further() -> None:
    """Each error keeps some kilobytes, and a file can hold a million documents."""
    cases, errors = load_text("--- a\n" * 2_000 + f"---\n{VALID}", "f.yaml")
    assert not cases
    assert str(errors[-1]) == "f.yaml: and 900 more errors in this file"


@pytest.mark.parametrize("text", [b"--- {\n", b"\xff"])
def test_an_error_keeps_no_parser(tmp_path: Path, text: bytes) -> None:
    """A folder of a megabyte can have a hundred thousand errors, and each parser has 20 kB."""
    (tmp_path / "f.yaml").write_bytes(text)
    for error in load(tmp_path).errors:
        assert (error.__traceback__, error.__cause__, error.__context__) == (None, None, None)


def test_limits_can_be_raised() -> None:
    text = "inputs:\n  x: [" + "1, " * 110_000 + "1]\ngraph: {y: x}\n"
    cases, errors = load_text(text, "f.yaml", Limits(numbers=200_000))
    assert not errors
    assert cases[0].inputs["x"].array.shape == (110_001,)


def test_depth_and_elements_have_limits_too() -> None:
    text = "inputs: {x: [[1]]}\ngraph: {y: 'zeros(3)'}\n"
    assert wrong(text) == []
    (deep,) = load_text(text, "f.yaml", Limits(depth=3))[1]
    (large,) = load_text(text, "f.yaml", Limits(elements=2))[1]
    assert (deep.message, large.message) == (
        "nested more than 3 deep",
        "zeros would make a tensor of 3 elements, where 2 are allowed",
    )


def test_folders_are_searched_in_order_without_hidden_ones(folder: Path) -> None:
    expected = ["cases/b/a/one.yml::one", "cases/b/two.yaml::two", "cases/b-c/three.YAML::three"]
    assert ids("cases") == ids("cases/") == ids("./cases") == ids(Path("cases")) == expected
    assert ids(".") == expected
    assert ids(folder / "cases")[0] == f"{folder.as_posix()}/cases/b/a/one.yml::one"


def test_a_file_is_read_once(folder: Path) -> None:
    assert len(ids("cases", "cases/b/two.yaml", "./cases/b")) == 3
    assert ids("cases/b/two.yaml", "cases/b")[0] == "cases/b/two.yaml::two"


def test_missing_path_and_what_was_meant(tmp_path: Path) -> None:
    (tmp_path / "chain.yaml").write_text(VALID)
    missing = tmp_path / "chian.yaml"
    (error,) = load(missing).errors
    assert error.message == "there is no such file or folder"
    assert error.hint == f"did you mean '{tmp_path.as_posix()}/chain.yaml'?"


def test_other_suffixes_pipes_and_links(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "nowhere.yaml").symlink_to("gone.yaml")
    (tmp_path / "valid.yaml").write_text(VALID)
    (error,) = load(tmp_path / "notes.txt").errors
    assert error.message == "not a case file"
    cases, errors = load(tmp_path)
    assert [case.name for case in cases] == ["valid"]
    assert [Path(error.place.file).name for error in errors] == ["loop.yaml", "nowhere.yaml", "pipe.yaml"]
    assert [error.message for error in errors][1:] == ["the link leads nowhere", "not a regular file"]


def test_a_closed_standard_input_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    (error,) = load("-").errors
    assert str(error) == "-: the standard input is closed"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files_and_folders(tmp_path: Path) -> None:
    file, folder = tmp_path / "a.yaml", tmp_path / "folder"
    file.write_text(VALID)
    folder.mkdir()
    file.chmod(0)
    folder.chmod(0)
    try:
        errors = load(tmp_path).errors
    finally:
        folder.chmod(0o700)
    assert {error.message for error in errors} == {"cannot be read: permission denied"}
    assert len(errors) == 2


@pytest.mark.parametrize("path", ["", "no\0where.yaml", "x" * 5_000 + ".yaml", "::", "a::b"])
def test_paths_that_are_none(path: str) -> None:
    loaded = load(path)
    assert not loaded.cases
    assert len(loaded.errors) == 1


def test_an_id_is_parted_where_the_file_ends(tmp_path: Path) -> None:
    (tmp_path / "a::b.yaml").write_text(VALID)
    assert split_id("f.yaml::a case") == ("f.yaml", "a case")
    assert split_id("f.yaml") == ("f.yaml", None)
    assert split_id(f"{tmp_path}/a::b.yaml") == (f"{tmp_path}/a::b.yaml", None)
    assert split_id(f"{tmp_path}/a::b.yaml::c::d") == (f"{tmp_path}/a::b.yaml", "c::d")


def test_targets_and_errors_come_in_the_order_of_the_paths(folder: Path) -> None:
    assert list(discover(["cases/b/two.yaml", "cases/b/two.yaml::q"])) == [Target("cases/b/two.yaml")]
    found = list(discover(["cases/b/notes.txt", "cases/b/two.yaml::q", "cases/b/two.yaml::q"]))
    assert [type(one) for one in found] == [InvalidCase, Target]
    assert found[1] == Target("cases/b/two.yaml", "q")


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"12345")
    assert read(str(path), Limits(bytes=5)) == b"12345"
    with pytest.raises(InvalidCase, match="larger than 4 bytes"):
        read(str(path), Limits(bytes=4))


def test_an_id_is_never_that_of_a_case_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("d/a.yaml", "d/a.yaml::b.yaml", "e/a.yaml::x/f.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"name: 'b.yaml::c'\n{VALID}")
    for paths in (["d", "e"], ["d/a.yaml", "d/a.yaml::b.yaml", "e/a.yaml::x"], [".", "e/a.yaml::x/f.yaml"]):
        cases, errors = load(paths)
        assert [case.place.file for case in cases] == ["d/a.yaml"]
        assert {error.message for error in errors} == {"the path has '::' in it"}
        assert {error.place.file.partition("/")[0] for error in errors} == {"d", "e"}
    (error,) = load("d/a.yaml::b.yaml").errors
    assert error.hint == "rename it: '::' ends the file in the id of a case"


def test_no_id_begins_as_an_option_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-d").mkdir()
    for name in ("--engine=q.yaml", "-d/f.yaml"):
        (tmp_path / name).write_text(f"name: c\n{VALID}")
    expected = ["./--engine=q.yaml::c", "./-d/f.yaml::c"]
    assert ids(".") == ids("--engine=q.yaml", "-d") == ids("./--engine=q.yaml", ".//-d/") == expected
    assert ids(*expected) == expected
    (error,) = load("-e.yaml").errors
    assert error.place.file == "./-e.yaml"


def test_two_dots_after_a_link_lead_where_the_system_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("other/inner")
    for folder in (tmp_path, tmp_path / "other"):
        (folder / "f.yaml").write_text(VALID)
    assert ids("f.yaml", "link/../f.yaml") == ["f.yaml::f", "link/../f.yaml::f"]


def test_a_folder_as_deep_as_a_path_can_be_long(tmp_path: Path) -> None:
    """Folders that are made by hand are deeper than Python may recurse, and deeper than a path can name."""
    (tmp_path / "good.yaml").write_text(VALID)
    opened = os.open(tmp_path, os.O_RDONLY)
    for _ in range(2_100):
        os.mkdir("d", dir_fd=opened)
        outer, opened = opened, os.open("d", os.O_RDONLY, dir_fd=opened)
        os.close(outer)
    os.close(opened)
    try:
        cases, errors = load(tmp_path)
    finally:
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # which pytest could not remove
    assert [Path(case.place.file).name for case in cases] == ["good.yaml"]
    assert [error.message for error in errors] == ["cannot be read: file name too long"]
