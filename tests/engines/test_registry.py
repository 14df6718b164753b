"""Entries of engines, and the libraries that results depend on."""

from __future__ import annotations

from pathlib import Path

import gradcheck.engines
from gradcheck.engines.core import Core
from gradcheck.engines.registry import ENGINES, LIBRARY_CLASSES, libraries_of
from tests.test_architecture import imports_of, parsed

ROOM = Path(gradcheck.engines.__file__).parent


def test_each_entry_lists_all_libraries_that_its_module_imports() -> None:
    for entry in ENGINES.values():
        page = ROOM / f"{entry.module.rpartition('.')[2]}.py"
        libraries = {found for found in imports_of(parsed(page)) if found in {"torch", "jax", "autograd", "numpy"}}
        assert libraries <= {*ENGINES["core"].libraries, *entry.libraries}


def test_what_the_core_computes_with_always_counts() -> None:
    assert libraries_of(["core", "torch"]) == ("numpy", "ml_dtypes", "torch")
    assert libraries_of(["hips"]) == ("numpy", "ml_dtypes", "autograd")


def test_somebody_elses_may_depend_on_anything() -> None:
    own = [Core(), "mine.py:Tensor", "package:Engine", "of an entry point", *LIBRARY_CLASSES, ""]
    assert [one for one in own if libraries_of(["core", one]) is not None] == []
