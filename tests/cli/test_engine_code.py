"""The files that an engine's code depends on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck.cli.engine_code import user_code


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lib" / "own_package" / "sub"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py", folder / "engine.py"):
        file.write_text("")
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_file_of_a_package_imports_from_the_folder_around_it(package: Path) -> None:
    assert user_code("lib/own_package/sub/engine.py:X") == ("lib/own_package/sub/engine.py", "lib")
    (package / "__init__.py").unlink()
    assert user_code("engine.py:X", "lib/own_package/sub") == ("lib/own_package/sub/engine.py", "lib/own_package/sub")


def test_a_file_behind_a_link_imports_what_is_beside_it(package: Path) -> None:
    Path("link.py").symlink_to(package / "engine.py")
    assert user_code("link.py:X") == ("link.py", "lib")


def test_a_module_is_here_or_in_a_folder_of_the_path(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_code("own_package.sub.engine:X") is None
    monkeypatch.syspath_prepend("lib")
    assert user_code("own_package.sub.engine:X") == ("lib/own_package/sub/engine.py", "lib")
    assert user_code("own_package.sub:X") == ("lib/own_package/sub/__init__.py", "lib")
    monkeypatch.chdir("lib")
    assert user_code("own_package.sub.engine:X") == ("own_package/sub/engine.py", ".")


@pytest.mark.parametrize("name", ["core", "torch", "numpy:ndarray", "json:loads", "nowhere:X", "__main__:f"])
def test_no_code_of_a_user(package: Path, name: str) -> None:
    assert user_code(name) is None
