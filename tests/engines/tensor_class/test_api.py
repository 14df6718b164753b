"""How a class is made, read and asked for gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.scheduling.run import run
from gradcheck.engines.resolve import resolve_engine
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.api_discovery import api_of
from gradcheck.engines.tensor_class.members import method_of
from gradcheck.errors import Unsupported
from tests.engines.tensor_class.plain import Plain
from tests.from_text import case_of

X = np.array([1.0, 2.0])


def test_what_it_is_made_of_is_a_copy() -> None:
    array = X.copy()
    api_of(Plain, "Plain").make(array, True).data[...] = 7
    assert array.tolist() == [1, 2]


def test_a_class_that_takes_nothing_but_arrays_gets_no_single_number_of_numpys() -> None:
    class Strict(Plain):
        def __init__(self, data: Any) -> None:
            assert isinstance(data, np.ndarray)
            super().__init__(data)

    made = api_of(Strict, "Strict").make(np.array(2.0) + 1, True)
    assert made.data == 3.0


def test_a_pass_may_be_in_a_file_beside_the_class(tmp_path: Path) -> None:
    kind = "class Cell:\n    def __init__(self, value):\n        self.value, self.parts = value, []\n\n"
    kind += "    def __mul__(self, other):\n        made = Cell(self.value * other.value)\n"
    kind += "        made.parts = [(self, other.value), (other, self.value)]\n        return made\n"
    rules = "def gradient(root, leaf):\n    if root is leaf:\n        return 1.0\n"
    rules += "    return sum(factor * gradient(part, leaf) for part, factor in root.parts)\n"
    (tmp_path / "cell_here.py").write_text(kind)
    (tmp_path / "autodiff.py").write_text(rules)
    text = "inputs: {a: 2.0, b: 3.0}\ngraph: {c: a * b, y: c * a}\n"
    (found,) = run([case_of(text)], engines=[resolve_engine(f"{tmp_path / 'cell_here.py'}:Cell")]).cases
    assert found.status == "passed"


def test_values_may_be_tensors_numbers_or_lists() -> None:
    api = api_of(Plain, "Plain")
    inner, outer = Plain(X), Plain(0)
    for data in (X, [1.0, 2.0], memoryview(X)):
        outer.data = data
        assert api.read(outer).tolist() == [1, 2]
    outer.data = inner.data
    assert api.read(outer) is inner.data
    outer.data = object()
    with pytest.raises(Unsupported, match="values of a Plain cannot be read; give it one of data, value"):
        api.read(outer)


def test_gradients_may_be_tensors_numbers_or_nothing() -> None:
    api = api_of(Plain, "Plain")
    tensor = api.make(X, True)
    for gradient, array in ((None, None), (Plain(X), X), (X, X), (3, 3), ("text", None)):
        tensor.grad = gradient
        found = api.gradient_array(tensor)
        assert (found is None) == (array is None)
        assert array is None or np.array_equal(found, array)


def test_a_gradient_that_is_set_is_a_copy() -> None:
    api = api_of(Plain, "Plain")
    tensor, gradient = api.make(X, True), X.copy()
    api.set_gradient(tensor, gradient, False)
    gradient[...] = 7
    assert tensor.grad.tolist() == [1, 2]


def test_a_gradient_that_can_neither_be_set_nor_cleared_is_lacking() -> None:
    class Fixed(Plain):
        grad = property(lambda self: None, lambda self, value: None)

    api = api_of(Fixed, "Fixed")
    tensor = api.make(X, True)
    Fixed.grad = property(lambda self: None)  # type: ignore[assignment, method-assign]
    for clearing in (True, False):
        with pytest.raises(Unsupported) as caught:
            api.set_gradient(tensor, X, clearing)
        assert caught.value.lacks == "gradients that can be set"


@pytest.mark.parametrize(
    ("parameters", "takes_seed", "retaining"),
    [
        ("self", False, ""),
        ("self, gradient=None", True, ""),
        ("self, retain_graph=False", False, "retain_graph"),
        ("self, keep_graph=False, create_graph=False", False, "keep_graph"),
        ("self, g=None, retain=True", True, "retain"),
    ],
)
def test_what_a_signature_promises(
    variant: Callable[..., type], parameters: str, takes_seed: bool, retaining: str
) -> None:
    kind = variant(("def backward(self, gradient=None):", f"def backward({parameters}):\n        gradient = None"))
    api = api_of(kind, "Tensor")
    assert (bool(api.seed_keywords()), "".join(api.keeping_arguments)) == (takes_seed, retaining)


def test_keeping_is_passed_on_by_the_classs_own_word() -> None:
    class Keeping(Plain):
        def backward(self, *seed: Any, retain: bool = False) -> None:
            self.seen = seed, retain

    api = api_of(Keeping, "Keeping")
    tensor = api.make(X, True)
    api.backward(tensor, 1, retain_graph=True)
    assert tensor.seen == ((1,), True)
    api.backward(tensor)
    assert tensor.seen == ((), False)


def test_the_first_method_of_several_names() -> None:
    assert method_of("text", ("absent", "__doc__", "upper", "lower"))() == "TEXT"  # type: ignore[misc]
    assert method_of("text", ("absent",)) is None


def test_a_signature_that_cannot_be_read_promises_a_gradient() -> None:
    assert Api(int, "int", int, backward_name="__add__").seed_keywords()


def test_values_that_are_given_only_where_no_gradient_is_wanted() -> None:
    """As torch's: `numpy()` raises, `detach().numpy()` does not."""

    class Guarded(Plain):
        def __init__(self, data: Any, requires_grad: bool = False) -> None:
            super().__init__(None)
            del self.data
            self._kept, self.requires_grad = np.asarray(data), requires_grad

        def numpy(self) -> np.ndarray:
            if self.requires_grad:
                raise RuntimeError("call detach() first")
            return self._kept

        def detach(self) -> Guarded:
            return Guarded(self._kept)

    api = api_of(Guarded, "Guarded")
    made = api.make(np.ones((2, 3)), True)
    assert made.requires_grad
    assert api.read(made).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_what_a_gradient_was_before_is_copied_whatever_array_it_is() -> None:
    """A pass may add to it in place; of another library's arrays, too, a new one is of the same kind."""

    class Theirs:
        def __init__(self, numbers: Any) -> None:
            self.numbers = np.array(numbers)

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return self.numbers

        def new_tensor(self, numbers: Any) -> Theirs:
            return Theirs(numbers)

    api = api_of(Plain, "Plain")
    made: Any = Plain(X)
    made.grad = Theirs([0.0, 0.0])
    before = api.initial_gradient(made)
    made.grad.numbers += 1
    api.set_gradient(made, before, True)
    assert api.gradient_array(made).tolist() == [0, 0]  # type: ignore[union-attr]
    api.set_gradient(made, np.array([2.0, 3.0]), False)
    assert type(made.grad) is Theirs
    assert made.grad.numbers.tolist() == [2, 3]


def test_what_never_gives_its_values_is_detached_once() -> None:
    """As a lazy library's, whose detached tensors are new ones."""

    class Lazy(Plain):
        detached = 0

        def detach(self) -> Lazy:
            Lazy.detached += 1
            other = Lazy(0)
            other.data = object()
            return other

    api, tensor = api_of(Lazy, "Lazy"), Lazy(0)
    tensor.data = object()
    with pytest.raises(Unsupported):
        api.read(tensor)
    assert Lazy.detached == 1
