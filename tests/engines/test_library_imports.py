from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gradcheck.checks import pipeline
from gradcheck.cli.group import gradcheck, run_command
from gradcheck.engines.core import Core
from gradcheck.engines.library_imports import importing_elsewhere, working_elsewhere
from gradcheck.engines.resolve import resolve_engine
from gradcheck.engines.tensor_class.user_code_guard import Output

#: matplotlib looks for `matplotlibrc` so.
READER = """
from pathlib import Path
from typing import Any
from gradcheck.engines.core import Core
SETTINGS = Path("settingsrc").read_text() if Path("settingsrc").exists() else "none"
class Engine(Core):
    name = SETTINGS
"""
#: An engine that imports it when it computes.
LATE = """
import sys
from gradcheck.engines.core import Core
class Late(Core):
    name = "late"
    def evaluate(self, *given, **named):
        import reader_of_settings
        print("reads", reader_of_settings.SETTINGS, file=sys.stderr)
        return super().evaluate(*given, **named)
"""
#: Numba reads its file at the import, and again whenever it compiles.
NUMBA = """
import os
_config_fname = ".numba_config.yaml"
def reload_config():
    return os.path.exists(_config_fname)
IS_READ = reload_config()
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a working directory with settings, beside a folder of installed libraries."""
    libraries, clone = tmp_path / "site-packages", tmp_path / "clone"
    for folder in (libraries / "numba" / "core", clone):
        folder.mkdir(parents=True)
    (libraries / "reader_of_settings.py").write_text(READER)
    (libraries / "numba" / "__init__.py").write_text("from numba.core import config\n")
    (libraries / "numba" / "core" / "config.py").write_text(NUMBA)
    (clone / "settingsrc").write_text("of the folder")
    (clone / ".numba_config.yaml").write_text("dump_html: somewhere\n")
    monkeypatch.chdir(clone)
    monkeypatch.syspath_prepend(str(libraries))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("reader_of_settings", "numba")]:
        monkeypatch.delitem(sys.modules, name)
    yield clone
    for name in [name for name in sys.modules if name.partition(".")[0] in ("reader_of_settings", "numba")]:
        del sys.modules[name]


def test_an_engine_of_an_installed_library_reads_no_settings_of_the_folder(clone: Path) -> None:
    assert resolve_engine("reader_of_settings:Engine").name == "none"
    assert Path.cwd() == clone


def test_an_engine_that_a_package_offers_reads_none(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name, value = "house", "reader_of_settings:Engine"

        def load(self) -> type[Core]:
            return import_module("reader_of_settings").Engine  # type: ignore[no-any-return]

    monkeypatch.setattr("gradcheck.engines.resolve.metadata.entry_points", lambda group: [Point()])
    assert resolve_engine("house").name == "none"


def test_a_file_of_the_user_reads_its_folder_and_the_libraries_that_it_imports_do_not(clone: Path) -> None:
    (clone / "mine.py").write_text(READER)
    (clone / "imports.py").write_text("from reader_of_settings import Engine\n")
    assert resolve_engine("mine.py:Engine").name == "of the folder"
    assert resolve_engine("imports.py:Engine").name == "none"


def test_a_library_that_is_imported_while_an_engine_runs_reads_none(clone: Path) -> None:
    with Output().capturing():
        assert import_module("reader_of_settings").SETTINGS == "none"


@pytest.mark.parametrize("words", [("run", "case.yaml"), ("conform", "case.yaml", "--op", "exp")])
def test_a_library_that_an_engine_object_imports_late_reads_none(
    clone: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    (clone / "case.yaml").write_text("inputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n")
    (clone / "late.py").write_text(LATE)
    engine = ["late.py:Late"] if words[0] == "conform" else ["--engine", "late.py:Late"]
    run_command(gradcheck, [words[0], *engine, *words[1:]])
    assert "reads none" in capsys.readouterr().err
    assert Path.cwd() == clone


def test_a_library_that_torch_imports_late_reads_none(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "case.yaml").write_text("inputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n")
    examine, settings = pipeline.examine, list[str]()

    def late(*given: Any) -> Any:
        settings.append(import_module("reader_of_settings").SETTINGS)
        return examine(*given)

    monkeypatch.setattr(pipeline, "examine", late)
    assert run_command(gradcheck, ["run", "case.yaml"]) == 0
    assert settings == ["none"]


def test_numba_reads_no_settings_of_the_folder_when_it_compiles(clone: Path) -> None:
    with importing_elsewhere():
        import_module("numba")
    config = sys.modules["numba.core.config"]
    assert not config.IS_READ
    assert not config.reload_config()


def test_other_imports_are_as_always(clone: Path) -> None:
    with importing_elsewhere():
        pass
    assert import_module("reader_of_settings").SETTINGS == "of the folder"


def test_a_module_can_be_imported_in_a_folder_that_was_removed(clone: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with importing_elsewhere():
        assert import_module("reader_of_settings").SETTINGS == "none"


def test_an_error_of_a_module_leads_back_to_the_folder(clone: Path) -> None:
    (clone.parent / "site-packages" / "reader_of_settings.py").write_text("raise OSError('no such device')\n")
    with importing_elsewhere(), pytest.raises(OSError, match="no such device"):
        import_module("reader_of_settings")
    assert Path.cwd() == clone


def test_a_library_of_any_folder_of_the_path_reads_none(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install --target FOLDER` fills one that is called as the user likes."""
    target = clone.parent / "target"
    (clone.parent / "site-packages").rename(target)
    monkeypatch.syspath_prepend(str(target))
    with importing_elsewhere():
        assert import_module("reader_of_settings").SETTINGS == "none"
        assert not import_module("numba.core.config").IS_READ


def test_the_users_own_package_reads_its_folder(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that leads to the folder, or around it, makes no library of it."""
    (clone.parent / "site-packages" / "reader_of_settings.py").rename(clone / "reader_of_settings.py")
    for folder in (clone, clone.parent):
        monkeypatch.syspath_prepend(str(folder))
    with importing_elsewhere():
        assert import_module("reader_of_settings").SETTINGS == "of the folder"


def test_imports_of_two_threads_lead_back_to_the_folder(clone: Path) -> None:
    """The working directory is that of all threads: the second one to leave found the first one elsewhere."""
    is_left, may_return = threading.Event(), threading.Event()

    def work(first: bool) -> None:
        if not first:
            is_left.wait(60)
        with working_elsewhere():
            is_left.set()
            if first:
                may_return.wait(60)
                return
            may_return.set()
            threads[0].join(60)
            assert Path.cwd() != clone

    threads = [threading.Thread(target=work, args=(first,)) for first in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Path.cwd() == clone
