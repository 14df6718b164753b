"""What is known of gradcheck's own engines by their libraries, and of nobody else's."""

from __future__ import annotations

from pathlib import Path

import gradcheck.engines
from gradcheck.engines.core import Core
from gradcheck.engines.libraries import LIBRARIES, libraries_of
from gradcheck.engines.resolve import ENGINES, LIBRARY_CLASSES
from tests.test_architecture import imports_of, parsed

ROOM = Path(gradcheck.engines.__file__).parent


def test_every_engine_of_ours_is_there_with_all_that_it_imports() -> None:
    assert set(LIBRARIES) == set(ENGINES)
    for name, (where, _) in ENGINES.items():
        page = ROOM / f"{where.partition(':')[0].rpartition('.')[2]}.py"
        libraries = {found for found in imports_of(parsed(page)) if found in {"torch", "jax", "autograd", "numpy"}}
        assert libraries <= {*LIBRARIES["core"], *LIBRARIES[name]}


def test_what_the_core_computes_with_always_counts() -> None:
    assert libraries_of(["core", "torch"]) == ("numpy", "ml_dtypes", "torch")
    assert libraries_of(["hips"]) == ("numpy", "ml_dtypes", "autograd")


def test_somebody_elses_may_depend_on_anything() -> None:
    own = [Core(), "mine.py:Tensor", "package:Engine", "of an entry point", *LIBRARY_CLASSES, ""]
    assert [one for one in own if libraries_of(["core", one]) is not None] == []
