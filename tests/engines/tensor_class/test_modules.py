"""Where functions on somebody's tensors may be."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gradcheck.engines.tensor_class.modules import modules_of, overrides_numpy
from tests.engines.dialects import answering, sound


def test_a_package_has_submodules_by_usual_names_and_what_breaks_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "toygrad_here"
    package.mkdir()
    for name, text in {"__init__": "", "core": "", "ops": "SUM = 1", "losses": "raise ValueError"}.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("toygrad_here.core")
    found = modules_of(["toygrad_here.core"], ("ops", "losses", "nothing"), ())
    assert [one.__name__ for one in found] == ["toygrad_here", "toygrad_here.ops", "toygrad_here.core"]
    assert "toygrad_here.ops" in sys.modules


def test_a_clone_inside_of_a_package_is_no_submodule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "toygrad_with_clone"
    for name in ("nn", "ops"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "nn" / ".git").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("toygrad_with_clone")
    found = [module.__name__ for module in modules_of(["toygrad_with_clone"], ("nn", "ops"), ())]
    assert found == ["toygrad_with_clone", "toygrad_with_clone.ops"]
    assert "toygrad_with_clone.nn" not in sys.modules


def test_a_file_alone_has_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alone_here.py").write_text("")
    (tmp_path / "beside_here.py").write_text("SUM = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("alone_here")
    found = modules_of(["alone_here", "builtins"], (), ("beside_here", "nothing"))
    assert [one.__name__ for one in found] == ["alone_here", "beside_here"]


def test_an_array_leaves_it_to_numpy_what_its_functions_come_to() -> None:
    kinds = (answering.Array, answering.Detaching, sound.Tensor, type("Array", (np.ndarray,), {}))
    assert [overrides_numpy(kind) for kind in kinds] == [True, True, False, False]
    assert not overrides_numpy(type("Refusing", (), {"__array_ufunc__": None}))
