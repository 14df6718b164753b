"""What is found out about a class before anything is computed with it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.tensor_class.api_discovery import api_of
from gradcheck.errors import UsageError
from tests.engines.dialects import sound, training
from tests.engines.tensor_class.plain import Plain

X = np.array([1.0, 2.0])


def test_what_is_found_out() -> None:
    api = api_of(Plain, "Plain")
    assert (api.tensor_type, api.grad_flag, api.gradient_name, api.backward_name) == (Plain, "", "grad", "backward")
    assert not api.is_scalar


def test_a_flag_that_says_grad_and_is_true_or_false_is_one() -> None:
    class Tracking(Plain):
        def __init__(self, data: Any, name: str = "", my_grad_switch: bool = False) -> None:
            super().__init__(data)
            self.tracks = my_grad_switch

    api = api_of(Tracking, "Tracking")
    assert (api.make(X, True).tracks, api.make(X, False).tracks) == (True, False)


def test_a_flag_that_means_the_opposite() -> None:
    class Constant(Plain):
        def __init__(self, data: Any, constant: bool = True) -> None:
            super().__init__(data)
            self.constant = constant

    api = api_of(Constant, "Constant")
    assert (api.make(X, True).constant, api.make(X, False).constant) == (False, True)


def test_one_number_is_what_a_class_of_numbers_is_made_of(number: type) -> None:
    api = api_of(number, "Number")
    assert api.is_scalar
    assert api.make(np.array(2.5), True).data == 2.5


def test_a_number_with_a_name_is_a_number(number: type) -> None:
    class Named(number):  # type: ignore[misc]
        def __init__(self, value: Any, name: str) -> None:
            self.data, self.makers, self.grad = value, (), 0

    assert api_of(Named, "Named").is_scalar


def test_a_shape_that_is_not_the_datas_makes_no_class_of_arrays(number: type) -> None:
    kind = type("Number", (number,), {"__init__": lambda self, data: setattr(self, "data", data) or None})
    kind.shape = (1, 1)  # type: ignore[attr-defined]
    assert api_of(kind, "Number").is_scalar


def test_a_container_that_keeps_anything_is_made_for_numbers() -> None:
    class Value:
        def __init__(self, data: Any) -> None:
            self.data, self.grad = data, 0

        def backward(self) -> None: ...

    assert api_of(Value, "Value").is_scalar


def test_what_cannot_be_made_says_why() -> None:
    class Picky:
        def __init__(self, data: Any) -> None:
            raise ValueError("not today\nnor tomorrow")

    with pytest.raises(UsageError, match="Picky cannot be made from an array: ValueError: not today; its first"):
        api_of(Picky, "Picky")


def test_numbers_are_given_to_the_function_that_takes_them() -> None:
    class Stored(Plain):
        def __init__(self, storage: Any) -> None:
            assert isinstance(storage, dict)
            super().__init__(storage["numbers"])

        @classmethod
        def from_list(cls, numbers: Any) -> Any:
            return cls({"numbers": numbers})

    api = api_of(Stored, "Stored")
    np.testing.assert_array_equal(api.read(api.make(X, True)), X)


def test_a_constructor_of_shapes_gives_way_to_the_function_that_takes_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shaped(Plain):
        def __init__(self, shape: Any) -> None:
            super().__init__(np.zeros(np.shape(shape)))

    def tensor(numbers: Any) -> Any:
        made = Shaped(numbers)
        made.data = np.asarray(numbers)
        return made

    package = ModuleType("toolbox")  # the function may be in the package alone
    monkeypatch.setitem(sys.modules, "toolbox", package)
    monkeypatch.setattr(Shaped, "__module__", "toolbox.inner.tensors")
    assert not api_of(Shaped, "Shaped").read(api_of(Shaped, "Shaped").make(X, True)).any()
    monkeypatch.setattr(package, "tensor", tensor, raising=False)
    api = api_of(Shaped, "Shaped")
    np.testing.assert_array_equal(api.read(api.make(X, True)), X)
    assert not api.is_scalar


def test_a_class_may_be_called_like_the_function_that_takes_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hidden:
        def __init__(self, numbers: Any) -> None:
            self.inner = object()

    monkeypatch.setattr(sys.modules[__name__], "tensor", Hidden, raising=False)
    with pytest.raises(UsageError, match="has no backward"):
        api_of(Hidden, "Hidden")


def test_leaves_may_be_of_a_subclass_which_alone_has_a_gradient() -> None:
    class Base:
        def __init__(self, data: Any) -> None:
            self.data = np.asarray(data)

        def sum(self) -> None: ...

        def backward(self, gradient: Any = None) -> None: ...

    class Shape(Base):
        grad = None

    class Parameter(Base):
        def __init__(self, data: Any) -> None:
            super().__init__(data)
            self.grad = None

    api = api_of(Base, "Base")
    assert (type(api.make(X, True)), api.base_type, api.gradient_name) == (Parameter, Base, "grad")


@pytest.mark.parametrize("name", ["der", "delta"])
def test_a_gradient_may_be_called_a_derivative_in_short(name: str) -> None:
    class Node:
        def __init__(self, val: Any) -> None:
            self.val = val
            setattr(self, name, 0.0)

        def backward(self) -> None: ...

    assert api_of(Node, "Node").gradient_name == name


def test_a_mark_that_is_computed_is_not_set() -> None:
    class Marked(Plain):
        requires_grad = property(lambda self: False)

    assert api_of(Marked, "Marked").make(X, True).data is not None


def test_all_that_may_be_a_flag_is_kept_in_the_order_of_the_dialects() -> None:
    class Flagged(Plain):
        def __init__(self, data: Any, is_leaf: bool = True, requires_grad: bool = False) -> None:
            super().__init__(data)

    assert api_of(Flagged, "Flagged").grad_flags == (("requires_grad", True), ("is_leaf", True), ("", True))


def test_what_ops_return_may_be_of_a_sibling_class() -> None:
    class Node(Plain): ...

    class Parameter(Node): ...

    class Sum(Node): ...

    api = api_of(Parameter, "Parameter")
    assert (api.tensor_type, api.base_type) == (Parameter, Plain)
    assert api.is_tensor(Sum(X))


def test_a_class_that_makes_arrays_of_lists_or_takes_nothing_else_holds_arrays() -> None:
    class Bare:
        def __init__(self, data: Any) -> None:
            self.data, self.grad = np.array(data), None

        def backward(self, grad: Any) -> None: ...

    class Strict:
        def __init__(self, data: Any) -> None:
            if not isinstance(data, np.ndarray):
                raise TypeError("arrays only")
            self.data, self.grad = data, None

        def backward(self) -> None: ...

    assert not api_of(Bare, "Bare").is_scalar
    assert not api_of(Strict, "Strict").is_scalar


def test_a_gradient_that_cannot_be_read_yet_is_there() -> None:
    class Guarded(Plain):
        @property
        def grad(self) -> Any:
            raise ValueError("no gradient yet")

        @grad.setter
        def grad(self, value: Any) -> None: ...

    api = api_of(Guarded, "Guarded")
    assert api.gradient_name == "grad"
    assert api.gradient(api.make(X, True)) is None


def test_where_there_is_no_flag_a_method_asks_for_a_gradient() -> None:
    class Asked(Plain):
        asked = False

        def requires_grad_(self, wanted: bool = True) -> None:
            self.asked = wanted

    api = api_of(Asked, "Asked")
    assert (api.make(X, True).asked, api.make(X, False).asked) == (True, False)


def test_a_class_without_backward_needs_a_function_that_runs_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    class Var:
        def __init__(self, value: float) -> None:
            self.value = value

    with pytest.raises(UsageError, match=r"no backward\(\)"):
        api_of(Var, "Var")
    home = sys.modules[__name__]
    monkeypatch.setattr(home, "zero_grad", lambda root: None, raising=False)
    with pytest.raises(UsageError, match="nothing runs one for it"):
        api_of(Var, "Var")
    monkeypatch.setattr(home, "get_gradients", lambda root: {root: 1.0}, raising=False)
    running = api_of(Var, "Var").pass_runner
    assert running is not None
    assert running.function is home.get_gradients


class Whole(Plain):
    """It takes all that it has."""

    def __init__(self, name: str, value: Any, _children: Any, op: str, requires_grad: bool) -> None:
        super().__init__(value)
        self.given = (name, _children, op, requires_grad)


def test_a_constructor_is_given_what_it_wants_besides_the_data() -> None:
    api = api_of(Whole, "Whole")
    first, second = api.make(X, True), api.make(X, False)
    assert first.given[1:] == ((), "", True)
    assert second.given[1:] == ((), "", False)
    assert first.given[0] != second.given[0]
    np.testing.assert_array_equal(first.data, X)


def test_what_nobody_knows_is_not_made_up() -> None:
    class Odd(Plain):
        def __init__(self, colour: str, value: Any) -> None:
            super().__init__({"colour": colour}[value])

    with pytest.raises(UsageError, match="cannot be made"):
        api_of(Odd, "Odd")


def test_what_gives_a_class_its_gradients_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asleep:
        def __init__(self, data: Any) -> None:
            self.data, self.grad = np.asarray(data), None

        def sum(self) -> None: ...

    def enable_autograd() -> None:
        Asleep.backward = lambda self, gradient=None: None  # type: ignore[attr-defined]

    monkeypatch.setattr(sys.modules[__name__], "enable_autograd", enable_autograd, raising=False)
    assert api_of(Asleep, "Asleep").backward_name == "backward"


@pytest.mark.parametrize("how", ["keeps", "gives", "gives a list"])
def test_values_may_have_to_be_computed_first(how: str) -> None:
    class Lazy(Plain):
        def __init__(self, data: Any) -> None:
            super().__init__(data)
            self.thunk, self.data = self.data, None

        def realize(self) -> Any:
            if how != "keeps":
                return self.thunk if how == "gives" else self.thunk.tolist()
            self.data = self.thunk
            return None

    api = api_of(Plain, "Lazy")
    np.testing.assert_array_equal(api.read(Lazy(X)), X)


def test_what_keeps_a_gradient_may_be_another_flag_than_what_asks_for_one() -> None:
    api = api_of(training.Tensor, "Tensor")
    assert (api.grad_flag, api.keeping_flag) == ("requires_grad", "keep_grad")
    assert [api.make(np.ones(2), wanted).keep_grad for wanted in (True, False)] == [True, False]
    assert not api_of(sound.Tensor, "Tensor").keeping_flag


def test_a_dtype_may_be_required_and_what_is_said_is_of_a_call_with_all_arguments() -> None:
    class Typed(Plain):
        def __init__(self, data: Any, dtype: Any) -> None:
            super().__init__(np.asarray(data, dtype))

    assert api_of(Typed, "Typed").make(X, True).data.dtype == np.float64

    class Refusing(Plain):
        def __init__(self, data: Any, dtype: Any) -> None:
            raise ValueError("never")

    with pytest.raises(UsageError, match="ValueError: never"):
        api_of(Refusing, "Refusing")


def test_an_array_of_torchs_is_the_classs_own_kind_of_array() -> None:
    class OnTorch(Plain):
        def __init__(self, data: Any) -> None:
            assert isinstance(data, torch.Tensor)
            self.data, self.grad, self.shape = data, None, data.shape

    module = ModuleType("on_torch")
    module.torch = torch  # type: ignore[attr-defined]
    OnTorch.__module__ = "on_torch"
    sys.modules["on_torch"] = module
    try:
        assert isinstance(api_of(OnTorch, "OnTorch").stored(X), torch.Tensor)
    finally:
        del sys.modules["on_torch"]
