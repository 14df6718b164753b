"""From which folder a program imports a file, where its packages do not say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck import project_links
from gradcheck.engines.import_roots import module_of_program_file
from gradcheck.engines.resolve import resolve_engine
from gradcheck.engines.tensor_class.dialects import NEIGHBOURS
from gradcheck.engines.tensor_class.members import modules_of
from gradcheck.errors import UsageError
from tests.engines.test_resolve import TENSOR, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    clone = tmp_path / "my-clone"
    clone.mkdir()
    monkeypatch.chdir(clone)
    return clone


def test_a_package_inside_a_clone_precedes_an_installed_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder.parent / "installed" / "shelved" / "__init__.py", "")
    monkeypatch.syspath_prepend(folder.parent / "installed")
    write(folder / "__init__.py", "from shelved import cellar\n")
    write(folder / "shelved" / "__init__.py", "from .cellar import Tensor\n")
    write(folder / "shelved" / "cellar.py", TENSOR)
    assert resolve_engine("shelved/cellar.py:Tensor").name == "cellar.Tensor"


def test_a_file_may_import_what_stands_beside_its_folder(folder: Path) -> None:
    write(folder / "src" / "switches.py", "ON = 1\n")
    write(folder / "src" / "rev" / "nodes.py", f"from switches import ON\n{TENSOR}")
    assert module_of_program_file("src/rev/nodes.py").ON == 1


@pytest.mark.parametrize("around", [True, False])
def test_a_project_beside_that_of_the_engine_is_not_imported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, around: bool
) -> None:
    """A clone that is named like a library that the engine lacks."""
    write(folder / "mine" / "nodes.py", f"import datasets\n{TENSOR}")
    write(folder / "datasets" / "__init__.py", "raise SystemExit('it ran')\n")
    (folder / ("datasets" if around else "mine") / ".git").mkdir()
    monkeypatch.chdir(folder if around else folder / "datasets")
    with pytest.raises(ModuleNotFoundError, match="datasets"):
        module_of_program_file(str(folder / "mine" / "nodes.py"))


def test_a_project_beside_the_engines_package_replaces_no_library(folder: Path) -> None:
    write(folder / "mine" / "__init__.py", "")
    write(folder / "mine" / "nodes.py", f"import mygrad\nfrom mine import helper\n{TENSOR}")
    write(folder / "mine" / "helper.py", "import beside\n")
    write(folder / "beside" / "__init__.py", "")
    write(folder / "mygrad" / "__init__.py", "raise SystemExit('it ran')\n")
    (folder / "mygrad" / ".git").mkdir()
    assert "mygrad/mygrad" not in str(module_of_program_file("mine/nodes.py").mygrad.__file__)


def test_files_of_other_users_and_clones_are_no_neighbours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `/tmp`, where anybody writes; root unpacks archives with the owners that they name."""
    ran = folder / "ran"
    planted = f"open({str(ran)!r}, 'w')\n"
    known = project_links._owners
    theirs = ("functional.py", "beside.py", "lacking.py", ".git")
    monkeypatch.setattr(project_links, "_owners", lambda path: {4711} if Path(path).name in theirs else known(path))
    for name in ("functional.py", "beside.py", "lacking.py", "ops/__init__.py", "tqdm/__init__.py"):
        write(folder / name, planted)
    for clone in ("ops", "tqdm"):
        (folder / clone / ".git").mkdir()
    write(folder / "ops.py", "")
    tries = "".join(f"try:\n    import {name}\nexcept ImportError: pass\n" for name in ("beside", "lacking", "tqdm"))
    write(folder / "engine.py", f"{tries}{TENSOR}")
    write(folder / "deep" / "engine.py", f"{tries}{TENSOR}")
    for file in ("engine.py", "deep/engine.py"):
        resolve_engine(f"{file}:Tensor")
    home = module_of_program_file("engine.py").__name__
    assert [Path(str(one.__file__)).name for one in modules_of([home], (), NEIGHBOURS)] == ["engine.py"]
    assert not ran.exists()


def test_what_stands_nowhere_is_missed_by_its_name(folder: Path) -> None:
    write(folder / "lone" / "nodes.py", "import nowhere_at_all\n")
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        module_of_program_file("lone/nodes.py")
    write(folder / "kit" / "__init__.py", "from kit.lost import thing\n")
    write(folder / "kit" / "nodes.py", TENSOR)
    with pytest.raises(UsageError, match=r"No module named 'kit\.lost'"):
        resolve_engine("kit/nodes.py:Tensor")


def test_a_folder_cannot_replace_a_library(folder: Path) -> None:
    write(folder / "numpy" / "thing.py", "")
    write(folder / "deep" / "nodes.py", "import numpy.thing\n")
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.thing"):
        module_of_program_file("deep/nodes.py")


def test_a_relative_import_without_its_package_is_told_as_it_is(folder: Path) -> None:
    write(folder / "odd" / "__init__.py", "from twin import Tensor\n")
    write(folder / "odd" / "twin.py", "from ..... import nothing\n")
    with pytest.raises(ImportError, match="relative import"):
        module_of_program_file("odd/twin.py")
