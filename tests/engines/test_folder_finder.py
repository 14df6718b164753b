"""Modules beside user code: what is found there, and for whom."""

from __future__ import annotations

import py_compile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from gradcheck import project_links
from gradcheck.engines.user_modules import module_of_program_file
from tests.engines.test_resolve import write


@pytest.mark.parametrize("file", ["beside.pyc", f"beside{EXTENSION_SUFFIXES[0]}"])
def test_no_file_of_another_user_stands_for_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Python prefers a library to `beside.py`, and takes bytecode without a source."""
    write(tmp_path / file, "")
    write(tmp_path / "engine.py", "import beside")
    known = project_links._owners
    monkeypatch.setattr(project_links, "_owners", lambda path: {4711} if Path(path).name == file else known(path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImportError, match="No module named 'beside'"):
        module_of_program_file("engine.py")


def test_bytecode_stands_for_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python does not compare some bytecode with its source."""
    for name in ("engine", "beside"):
        source = tmp_path / f"{name}.py"
        write(source, "NAME = 'theirs'")
        py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    write(tmp_path / "beside.py", "NAME = 'mine'")
    write(tmp_path / "engine.py", "import beside")
    monkeypatch.chdir(tmp_path)
    assert module_of_program_file("engine.py").beside.NAME == "mine"
