"""Attributes, methods and values of tensors; related classes."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.tensor_class.members import (
    MAX_ELEMENTS,
    array_of,
    candidates,
    is_related_type,
    is_storage,
    method_of,
    modules_of,
    overrides_numpy,
    read_fallback_values,
    set_attribute,
)
from tests.engines.dialects import answering, sound


class Tensor:
    data: Any = 1.0
    none = None

    def values(self) -> float:
        return 2.0

    def numpy(self) -> float:
        return 3.0


def test_the_first_method_of_these_names() -> None:
    found = method_of(Tensor(), ("absent", "data", "values", "numpy"))
    assert found is not None
    assert found() == 2.0
    assert method_of(Tensor(), ("absent", "data")) is None


def test_attributes_then_methods_in_order_and_what_is_absent_is_left_out() -> None:
    assert list(candidates(Tensor(), ("none", "absent", "values", "data"), ("numpy", "data"))) == [None, 2.0, 1.0, 3.0]


def test_an_array_that_can_be_called_is_not_called() -> None:
    class Called(np.ndarray):
        def __call__(self) -> None:
            raise AssertionError

    tensor = Tensor()
    tensor.data = np.zeros(2).view(Called)
    (found,) = candidates(tensor, ("data",), ())
    assert found is tensor.data


def plain(value: Any) -> np.ndarray | None:
    return np.asarray(value) if isinstance(value, list) else None


def test_values_are_read_after_another_attribute_raises() -> None:
    class Guarded:
        values = (1.0, 2.0)

        @property
        def data(self) -> Any:
            raise ValueError("not now")

        def tolist(self) -> list[float]:
            return [1.0, 2.0]

    assert np.array_equal(np.asarray(read_fallback_values(Guarded(), plain)), [1.0, 2.0])


def test_values_are_read_detached_or_computed() -> None:
    detached = SimpleNamespace(detach=lambda: SimpleNamespace(data=[3.0]))
    assert np.array_equal(np.asarray(read_fallback_values(detached, plain)), [3.0])
    lazy = SimpleNamespace(data=None)
    lazy.realize = lambda: setattr(lazy, "data", [4.0])
    assert np.array_equal(np.asarray(read_fallback_values(lazy, plain)), [4.0])
    assert read_fallback_values(SimpleNamespace(), plain) is None


class Node:
    """A base class of the user."""


class NodeTensor(Node):
    def backward(self) -> None: ...


class Add(Node):
    def backward(self) -> None: ...


class Settings(Node):
    """No tensor: it has no pass."""


class Function:
    """An op's own rule is no pass of a tensor's."""

    def backward(self) -> None: ...


def test_classes_are_related_by_base_and_method() -> None:
    assert is_related_type(Add, NodeTensor, "backward")
    assert is_related_type(Settings, NodeTensor, "")
    assert not any(
        is_related_type(kind, NodeTensor, "backward") for kind in (Settings, Function, np.ndarray, float, object)
    )


def test_a_common_base_relates_no_classes() -> None:
    class Sized(np.lib.mixins.NDArrayOperatorsMixin):
        def backward(self) -> None: ...

    class Other(np.lib.mixins.NDArrayOperatorsMixin):
        def backward(self) -> None: ...

    assert not is_related_type(Other, Sized, "backward")


def test_a_class_imported_twice_is_related(tmp_path: Path) -> None:
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


def test_no_value_hides_a_method() -> None:
    class Held:
        def grad(self) -> int:
            return 1

    held = Held()
    set_attribute(held, "other", 2)
    assert vars(held) == {"other": 2}
    with pytest.raises(AttributeError, match="grad is a method"):
        set_attribute(held, "grad", 2)


ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


class Base:
    shape: Any = (2, 3)


class Tupled(Base):
    def __getitem__(self, index: Any) -> float:
        row, column = index
        return ROWS[row][column]


class Nested(Base):
    def __getitem__(self, index: int) -> list[float]:
        return ROWS[index]


class Listed(Base):
    def to_list(self) -> Any:
        return ROWS


class Flat(Base):
    def __init__(self) -> None:
        self._data = [number for row in ROWS for number in row]


class Holder(Base):
    """It can neither be indexed nor converted: a device's array, as it were."""

    def __init__(self) -> None:
        self.data = np.array(ROWS)


@pytest.mark.parametrize("kind", [Tupled, Nested, Listed, Flat, Holder])
def test_numbers_are_read_by_what_there_is(kind: type) -> None:
    np.testing.assert_array_equal(np.asarray(array_of(kind())), ROWS)
    assert is_storage(kind())


def test_what_is_no_such_array() -> None:
    large = Tupled()
    large.shape = (MAX_ELEMENTS + 1, 1)
    unknown = Tupled()
    unknown.shape = ("n", 3)
    assert array_of(large) is array_of(unknown) is array_of(Base()) is array_of(7.0) is array_of(Tupled) is None
    assert not is_storage(np.ones(2))
    assert not is_storage(unknown)


def test_a_single_number_has_no_index() -> None:
    class Single:
        shape = ()
        data = [7.0]  # noqa: RUF012

    assert array_of(Single()) == 7.0


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
