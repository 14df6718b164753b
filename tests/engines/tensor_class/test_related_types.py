"""Which classes' objects are tensors."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.related_types import is_related_type


class Node:
    """A base of somebody's own."""


class Tensor(Node):
    def backward(self) -> None: ...


class Add(Node):
    def backward(self) -> None: ...


class Settings(Node):
    """No tensor: it has no pass."""


class Function:
    """An op's own rule is no pass of a tensor's."""

    def backward(self) -> None: ...


def test_a_shared_base_and_the_same_method_make_kindred() -> None:
    assert is_related_type(Add, Tensor, "backward")
    assert is_related_type(Settings, Tensor, "")
    assert not any(
        is_related_type(kind, Tensor, "backward") for kind in (Settings, Function, np.ndarray, float, object)
    )


def test_a_base_of_everybodys_makes_none() -> None:
    class Sized(np.lib.mixins.NDArrayOperatorsMixin):
        def backward(self) -> None: ...

    class Other(np.lib.mixins.NDArrayOperatorsMixin):
        def backward(self) -> None: ...

    assert not is_related_type(Other, Sized, "backward")


def test_one_class_that_is_imported_under_two_names_is_one(tmp_path: Path) -> None:
    file = tmp_path / "tensors.py"
    file.write_text("class Tensor:\n    def backward(self): ...\n\nclass Other:\n    def backward(self): ...\n")
    first, second = (_loaded(file, name) for name in ("first_name", "second_name"))
    assert first.Tensor is not second.Tensor
    assert is_related_type(second.Tensor, first.Tensor, "backward")
    assert not is_related_type(second.Other, first.Tensor, "backward")


def _loaded(file: Path, name: str) -> Any:
    import sys

    spec = util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
