"""From a class to its engine: which kind of engine, where its functions are, and what is no Tensor class."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from gradcheck.engines.tensor_class.adapt import adapt
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.scalars import ScalarClassEngine
from gradcheck.errors import UsageError


def test_a_class_of_arrays_and_a_class_of_numbers(variant: Callable[..., type], number: type) -> None:
    assert type(adapt(variant(), "mine.Tensor")) is TensorClassEngine
    engine = adapt(number, "mine.Number")
    assert type(engine) is ScalarClassEngine
    assert engine.name == "mine.Number"


@pytest.mark.parametrize("kind", [int, dict, object])
def test_what_is_no_tensor_class_is_refused(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot be made from an array|has no backward"):
        adapt(kind, "mine")


def test_functions_are_found_in_the_package_and_its_usual_submodules(
    variant: Callable[..., type], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("tinylib", "tinylib.core", "tinylib.functional", "tinylib.core.nn", "tinylib.elsewhere")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["tinylib.functional"].gelu = len  # type: ignore[attr-defined]
    kind = variant()
    kind.__module__ = "tinylib.core"
    library = adapt(kind, "tinylib.Tensor").library
    *modules, last = library.modules
    assert [module.__name__ for module in modules] == [
        "tinylib",
        "tinylib.functional",
        "tinylib.core",
        "tinylib.core.nn",
    ]
    assert last is kind
    assert library.function("gelu") is len


def test_what_a_class_prints_while_it_is_looked_at_is_dropped(
    variant: Callable[..., type], capfd: pytest.CaptureFixture[str]
) -> None:
    adapt(variant(("        self.data =", "        print('made')\n        self.data =")), "mine")
    assert capfd.readouterr() == ("", "")
