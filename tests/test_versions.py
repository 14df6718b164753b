"""The oldest versions that are tried are those that pyproject.toml promises, the newest are bounded by it alone."""

from __future__ import annotations

import os
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from gradcheck.engines.torch_versions import ARGUMENTS, CHANGED_CALLS, DERIVATIVES, FUNCTIONS
from tests.paths import ROOT


@pytest.fixture
def versions() -> Any:
    """The module of `.ci` that both scripts are made of."""
    spec = spec_from_file_location("promised", ROOT / ".ci" / "promised.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def test_the_oldest_are_the_lower_bounds(versions: Any) -> None:
    extras = project()["optional-dependencies"]
    asked = [*project()["dependencies"], *extras["engines"], *extras["dask"]]
    assert versions.oldest() == [one.replace(">=", "==") for one in asked]
    assert set(extras) == {*versions.EXTRAS, "dev", "site"}


def test_they_are_read_where_they_stand(versions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(text.replace('"torch>=2.4"', '"torch>=2.7.1"'), encoding="utf-8")
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    assert "torch==2.7.1" in versions.oldest()
    (tmp_path / "pyproject.toml").write_text(text.replace('"torch>=2.4"', '"torch~=2.4"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"'torch~=2\.4' is not NAME>=VERSION"):
        versions.oldest()


def test_the_newest_torch_can_be_named(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADCHECK_TORCH", raising=False)
    assert versions.newest() == versions.promised()
    monkeypatch.setenv("GRADCHECK_TORCH", "torch==2.14.1")
    changed = set(versions.newest()) ^ set(versions.promised())
    assert {one for one in changed if not one.startswith("torch>=")} == {"torch==2.14.1"}


def test_what_they_run_is_there(versions: Any) -> None:
    assert all((ROOT / path).exists() for path in versions.TESTS)
    tools = {one.partition(">=")[0] for one in project()["optional-dependencies"]["dev"]}
    assert set(versions.TOOLS) <= tools
    for name in ("oldest", "newest"):
        script = ROOT / ".ci" / name
        assert os.access(script, os.X_OK) or sys.platform == "win32"
        assert f"import check, {name}" in script.read_text(encoding="utf-8")


def test_nothing_is_known_of_versions_that_are_no_longer_promised() -> None:
    """An entry for a torch that every installation has would be asked for in vain."""
    (bound,) = (one.partition(">=")[2] for one in project()["dependencies"] if one.startswith("torch>="))
    known = [
        *FUNCTIONS.values(),
        *ARGUMENTS.values(),
        *DERIVATIVES.values(),
        *(one.since for one in CHANGED_CALLS.values()),
    ]
    assert min(_numbers(since) for since in known) > _numbers(bound)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
