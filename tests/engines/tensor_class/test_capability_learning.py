"""What is learned about a backward pass, of classes that differ in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.capabilities import Capabilities
from tests.engines.dialects import sound
from tests.engines.dialects.test_dialects import judged

BACKWARD = "def backward(self, gradient=None):"
KEEP = "            tensor.grad = whole if"
TENSORS = ("else np.asarray(gradient)", "else gradient.data if isinstance(gradient, Tensor) else 1 / 0")
NO_SEED = (BACKWARD, "def backward(self):\n        gradient = None")
LEAVES_ONLY = (KEEP, f"            if not tensor.makers:\n  {KEEP}")
TOLD = (LEAVES_ONLY[0], LEAVES_ONLY[1].replace("not tensor.makers", "not tensor.makers or hasattr(tensor, 'told')"))
TELLING = ("    def sum(self):", "    def retain_grad(self):\n        self.told = True\n\n    def sum(self):")
IDLE = (BACKWARD, f"{BACKWARD}\n        if hasattr(self, 'spent'):\n            return\n        self.spent = True")
ONCE = (BACKWARD, f"{BACKWARD}\n        assert not hasattr(self, 'spent')\n        self.spent = True")
MUTE = (BACKWARD, f"{BACKWARD}\n        raise RuntimeError('never')")


@pytest.mark.parametrize(
    ("replacements", "found"),
    [
        ((), ("array", True, True)),
        ((TENSORS,), ("tensor", True, True)),
        ((NO_SEED,), ("none", True, True)),
        ((LEAVES_ONLY,), ("array", False, True)),
        ((TOLD, TELLING), ("array", True, True)),
        ((IDLE,), ("array", True, False)),
        ((ONCE,), ("array", True, False)),
    ],
)
def test_what_is_learned(variant: Callable[..., type], replacements: Any, found: tuple[str, bool, bool]) -> None:
    assert told(variant(*replacements)) == found


def test_a_class_that_cannot_multiply_may_add(variant: Callable[..., type]) -> None:
    kind = variant(("def __mul__(self, other):", "def __mul__(self, other):\n        raise TypeError"), TENSORS)
    assert told(kind)[0] == "tensor"


def test_a_class_of_numbers_takes_no_gradient(number: type) -> None:
    assert told(number) == ("none", True, True)


def test_a_pass_that_always_raises_teaches_nothing(variant: Callable[..., type]) -> None:
    assert learned(variant(MUTE)).not_understood == "RuntimeError: never"


def test_a_flag_that_no_leaf_may_have_is_passed_over(variant: Callable[..., type]) -> None:
    class Joined(variant(MUTE)):  # type: ignore[misc]
        def __init__(self, data: Any, makers: Any = (), in_graph: bool = False) -> None:
            super().__init__(data, makers)
            if in_graph:
                raise RuntimeError("it was made of nothing")

    assert learned(Joined).not_understood == "RuntimeError: never"


def test_gradients_that_are_jacobians_are_no_torch_gradients() -> None:
    class Transposing(sound.Tensor):
        def __init__(self, data: Any, *rest: Any) -> None:
            super().__init__(data, *rest)
            self.grad = np.zeros(self.data.shape[::-1])

    assert learned(Transposing).not_understood.startswith("its gradients are Jacobians")
    assert not learned(sound.Tensor).not_understood


class Doubles(sound.Tensor):
    """Every contribution counts twice, those to what an op makes on the way, too: a difference is off by 2 and by 4."""

    def fit(self, gradient: Any, shape: Any) -> Any:
        return 2 * super().fit(gradient, shape)


def test_a_class_that_is_off_by_one_factor_in_most_ops_is_understood() -> None:
    can = learned(Doubles)
    assert (can.not_understood, can.seed) == ("", "array")


def learned(kind: type) -> Capabilities:
    return adapt(kind, "mine").capabilities


def told(kind: type) -> tuple[str, bool, bool]:
    can = learned(kind)
    assert not can.not_understood
    return can.seed, can.keeps_intermediates, can.keeps_graph


def test_a_class_whose_plain_numbers_are_single_computes_in_single_precision(variant: Callable[..., type]) -> None:
    single = ("self.data = np.asarray(data)", "self.data = data if type(data) is np.ndarray else np.float32(data)")
    assert adapt(variant(single), "mine").capabilities.dtype == "float32"


def test_a_class_of_whole_numbers_is_not_understood(number: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def add(self: Any, other: Any) -> Any:
        return number(float(round(self.data + getattr(other, "data", other))), ((self, 1.0), (other, 1.0)))

    monkeypatch.setattr(number, "__add__", add)
    assert adapt(number, "mine").capabilities.not_understood == "its sums are whole numbers"


@pytest.mark.parametrize(
    ("held", "dtype"), [("np.asarray(data, np.longdouble)", "float64"), ("np.asarray(data, np.float32)", "float32")]
)
def test_a_class_of_more_precision_is_asked_for_doubles(
    variant: Callable[..., type], check: Callable[..., CaseResult], held: str, dtype: str
) -> None:
    kind = variant(("np.asarray(data)", held))
    assert adapt(kind, "mine").capabilities.dtype == dtype
    text = f"dtype: {dtype}\ninputs: {{x: [1, 2]}}\ngraph: {{y: x * x}}\nbackward: {{y: [0.3, 2]}}\n"
    assert check(kind, text).status == "passed"


def test_gradients_that_begin_in_less_precision_are_of_that(variant: Callable[..., type]) -> None:
    begins = variant(("self.grad = None", "self.grad = np.zeros_like(self.data, np.float32)"))
    assert adapt(begins, "mine").capabilities.dtype == "float32"


class Changing(sound.Tensor):
    """A pass that changes the values of leaves."""

    def backward(self, gradient: Any = None) -> None:
        leaves = [tensor for tensor in self.order() if not tensor.parents]
        super().backward(gradient)
        for tensor in leaves:
            tensor.data += 1


class Both(Changing):
    def differentiate(self, gradient: Any = None) -> None:
        sound.Tensor.backward(self, gradient)


class Entries(sound.Tensor):
    backward = None  # type: ignore[assignment]

    def get_gradients(self, gradient: Any = None) -> None:
        Changing.backward(self, gradient)  # type: ignore[arg-type]

    def differentiate(self, gradient: Any = None) -> None:
        sound.Tensor.backward(self, gradient)


def test_of_two_entries_to_a_pass_the_right_one_is_used() -> None:
    engine = adapt(Entries, "mine")
    assert not engine.capabilities.not_understood
    assert engine.api.pass_runner is not None
    assert engine.api.pass_runner.function.__name__ == "differentiate"


def test_a_wrong_method_is_not_hidden_by_another_entry() -> None:
    assert judged(Both, "bare").status == judged(Changing, "bare").status == "failed"


class Placed(sound.Tensor):
    """Its gradient is in `grad_value`; `grad` takes a tensor; numbers have an axis, and NumPy's are rejected."""

    grad_value: Any = None

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        super().__init__(data, parents, rule)
        del self.grad

    def grad(self, target: Any) -> Any:  # type: ignore[override]
        return target.grad_value

    def receive(self, gradient: Any) -> None:
        if not isinstance(gradient, np.ndarray):
            raise RuntimeError("no array")
        self.grad_value = gradient if self.grad_value is None else self.grad_value + gradient


class Method(Placed):
    """A method makes a list of it."""

    def receive(self, gradient: Any) -> None:
        super().receive(gradient)
        self.held, self.grad_value = self.grad_value, None

    def grad_list(self) -> Any:
        return getattr(self, "held", np.zeros(self.data.shape)).tolist()


def test_gradients_are_found_by_a_word_in_a_name_and_single_numbers_may_have_an_axis() -> None:
    engine = adapt(Placed, "mine")
    assert (engine.capabilities.not_understood, engine.api.gradient_name) == ("", "grad_value")
    assert engine.capabilities.total_shape == (1,)
    assert judged(Placed, "products").status == "passed"
    assert judged(Placed, "numbers").status == "passed"
    method = adapt(Method, "mine")
    assert (method.capabilities.not_understood, method.api.gradient_name) == ("", "grad_list")


class Several(sound.Tensor):
    """Holds no single number."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        super().__init__(data, parents, rule)
        if self.data.size == 1:
            raise ValueError("too few numbers")


def test_a_class_without_single_numbers_lacks_them() -> None:
    assert judged(Several, "bare").status == "passed"
    assert judged(Several, "numbers").status == "unsupported"


class Picky:
    """A tensor that takes no single number, has a flag without meaning, and a pass from a 1."""

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        if not isinstance(data, (list, np.ndarray)):
            raise ValueError(f"unsupported: {type(data)}")
        self.data, self.parts, self.grad = np.array(data), (), 0.0  # type: ignore[var-annotated]

    def _made(self, data: Any, *parts: Any) -> Any:
        made = Picky(data)
        made.parts = parts
        return made

    def __add__(self, other: Any) -> Any:
        return self._made(self.data + other.data, (self, 1.0), (other, 1.0))

    def __mul__(self, other: Any) -> Any:
        return self._made(self.data * other.data, (self, other.data), (other, self.data))

    def sum(self) -> Any:
        return self._made(np.array(self.data.sum()), (self, np.ones_like(self.data)))

    def backward(self) -> None:
        self._pass_on(np.ones_like(self.data))

    def _pass_on(self, gradient: Any) -> None:
        self.grad = self.grad + gradient
        for one, factor in self.parts:
            one._pass_on(gradient * factor)


def test_one_right_op_alone_ends_no_search() -> None:
    """With no dimension all other ops raise, so that the constant's gradient would not be seen."""
    found = learned(Picky)
    assert not found.not_understood
    assert not found.constants_lack_gradients


def test_the_dtype_of_another_attempt_is_forgotten() -> None:
    engine = adapt(sound.Tensor, "mine")
    engine.use_dtype("float32")
    assert engine.capabilities.dtype == "float64"
    assert not engine.capabilities.not_understood
