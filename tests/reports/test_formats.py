"""Every format is found by its name."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gradcheck import reports
from gradcheck.reports import FORMATS, Look, render

FOLDER = Path(reports.__file__).parent / "formats"


def test_every_module_of_the_folder_is_a_format() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert {one.module for one in FORMATS.values()} == modules


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_is_a_function_of_result_and_look(format: str, run: Any) -> None:
    module = import_module(f"gradcheck.reports.formats.{FORMATS[format].module}")
    assert list(inspect.signature(module.render).parameters) == ["result", "look"]
    assert render(run(), format) == module.render(run(), Look())
