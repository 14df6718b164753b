"""What may run a pass, by what it is called."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gradcheck import run
from gradcheck.engines.resolve import resolve_engine
from gradcheck.engines.tensor_class.pass_lookup import may_be_a_pass, passes_of, words_of
from tests.engines.dialects import training
from tests.from_text import case_of


@pytest.mark.parametrize(
    "name",
    [
        *("backward", "backwards", "run_backward_pass", "calcGradients", "get_grads", "grad", "compute_derivatives"),
        *("reverse_pass", "backPropagate", "gradient_of", "autodiff", "_backprop"),
    ],
)
def test_a_name_of_a_pass(name: str) -> None:
    assert may_be_a_pass(name)


@pytest.mark.parametrize(
    "name",
    [
        *("zero_grad", "no_grad", "numerical_gradient", "gradient_descent", "relu_backward", "sigmoid_grad", "add"),
        *("plot_gradients", "requires_grad_", "clip_grads", "sum", "unbroadcast_grad", "forward", "ready"),
    ],
)
def test_a_name_of_something_else(name: str) -> None:
    assert not may_be_a_pass(name)


def test_words() -> None:
    assert words_of("runBackwardPASSES") == ["run", "backward", "passe"]
    assert words_of("loss_") == ["loss"]


class Node:
    def __init__(self) -> None:
        self.value, self.parts, self.bar, self.grad_kept = 1.0, [], 0, None  # type: ignore[var-annotated]

    def derivative(self) -> float:
        return 0.0

    def grad_wrt(self, leaf: Any) -> float:
        return 1.0

    def zero_grad(self) -> None: ...


def home_of(**names: Any) -> ModuleType:
    home = ModuleType("home")
    vars(home).update(names)
    return home


def test_functions_come_before_methods_and_what_takes_less_first() -> None:
    def helper_grad(root: Any, leaves: Any) -> None: ...

    def backward(root: Any) -> None: ...

    def many_gradients(a: Any, b: Any, c: Any, d: Any) -> None: ...

    class Tape:
        def gradient(self, root: Any) -> None: ...

    class NeedyTape(Tape):
        def __init__(self, size: int) -> None: ...

    home = home_of(helper_grad=helper_grad, backward=backward, many=many_gradients, Tape=Tape, NeedyTape=NeedyTape)
    found = list(passes_of(Node, Node(), "derivative", [home, home]))
    functions = [(way.leaf_mode, inspect.unwrap(way.function)) for way in found]
    assert functions[0] == ("alone", backward)
    assert functions.index(("listed", helper_grad)) < functions.index(("each", helper_grad))
    assert ("each", Node.grad_wrt) in functions
    assert all(function is not many_gradients and function is not Node.zero_grad for _, function in functions)
    assert [way.attribute for way in found if way.attribute] == ["grad_kept", "bar"]
    assert sum(getattr(way.function, "__qualname__", "").startswith("ForeignTape.passes") for way in found) == 3


def test_a_gradient_that_is_kept_is_not_asked_for() -> None:
    class Kept:
        def __init__(self) -> None:
            self.grad = None

    assert not [way for way in passes_of(Kept, Kept(), "grad", []) if way.attribute]


def test_what_is_made_of_parameters_may_run_a_pass_where_it_is_no_base_alone() -> None:
    home = home_of(**{name: value for name, value in vars(training).items() if isinstance(value, type)})
    found = [way.function for way in passes_of(training.Tensor, training.Tensor([1.0]), "grad", [home])]
    assert [(type(way.__self__), way.__name__) for way in found] == [(training.SGD, "backward")]  # type: ignore[attr-defined]


def test_a_pass_may_be_in_a_module_that_is_named_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "slopes"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "jacobian.py").write_text("def jacobian(y, x):\n    return y.slope_of(x)\n")
    (package / "tensor.py").write_text(
        "class Tensor:\n"
        "    def __init__(self, data, slopes=None):\n"
        "        self.data, self.slopes = data, slopes or {self: 1.0}\n"
        "    def __mul__(self, other):\n"
        "        both = [(self, other.data), (other, self.data)]\n"
        "        keys = {*self.slopes, *other.slopes}\n"
        "        slope = lambda x: sum(f * one.slopes.get(x, 0.0) for one, f in both)\n"
        "        return Tensor(self.data * other.data, {x: slope(x) for x in keys})\n"
        "    def slope_of(self, x):\n"
        "        return self.slopes.get(x, 0.0)\n"
    )
    monkeypatch.chdir(tmp_path)
    engine = resolve_engine("slopes/tensor.py:Tensor")
    (found,) = run(
        [case_of("inputs: {a: 2.0, b: -3.0}\ngraph: {p: a * b, y: p * a}\n")], engines=[engine], trials=1
    ).cases
    assert found.status == "passed"
    assert engine.api.pass_function.__name__ == "jacobian"
