"""Further capabilities, clearing methods and precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities
from gradcheck.engines.tensor_class.traits import lowest_dtype, made_dtype
from gradcheck.facts import fact
from tests.engines.dialects import answering, diseases, keeping, sound
from tests.engines.dialects.test_dialects import judged


class Anew(sound.Tensor):
    """Clears gradients of other tensors than leaves before each pass."""

    def spread(self, seed: Any) -> None:
        for tensor in self.order():
            tensor.grad = None if tensor.parents else tensor.grad
        super().spread(seed)


def test_overwritten_intermediate_gradients_are_learned() -> None:
    assert not learned(Anew).adds_to_intermediates
    assert learned(sound.Tensor).adds_to_intermediates
    sick = type("Sick", (diseases.Overwrites, sound.Tensor), {})
    assert learned(sick).adds_to_intermediates


class Freeing(sound.Tensor):
    """Cuts its graph in a pass, unless told not to; totals alone start one."""

    def backward(self, remove_graph: bool = True) -> None:
        made = list(self.order())
        self.spread(np.ones(self.data.shape, self.dtype))
        for tensor in made if remove_graph else ():
            tensor.parents = ()


class Cutting(Freeing):
    def backward(self) -> None:
        super().backward(True)


class Forgetting(sound.Tensor):
    """Clears the gradients of leaves, too, before each pass."""

    def spread(self, seed: Any) -> None:
        for tensor in self.order():
            tensor.grad = None
        super().spread(seed)


def test_a_pass_that_frees_its_graph_is_told_to_keep_it() -> None:
    assert judged(Freeing, "twice").status == "passed"
    assert (learned(Freeing).keeps_graph, learned(Cutting).keeps_graph) == (True, False)
    assert judged(Cutting, "twice").status == "unsupported"


def test_a_class_whose_passes_begin_anew_lacks_second_passes() -> None:
    assert not learned(Forgetting).adds_up
    assert learned(sound.Tensor).adds_up
    assert judged(Forgetting, "again").status == "passed"
    found = judged(Forgetting, "twice")
    assert found.status == "unsupported"
    engine = adapt(Forgetting, "mine")
    assert not engine.capabilities.not_understood
    assert fact("begins_anew") in engine.conventions


def test_numpy_functions_count_only_with_gradients() -> None:
    assert learned(answering.Array).answers_numpy
    assert not learned(answering.Detaching).answers_numpy
    assert not learned(sound.Tensor).answers_numpy


def test_integer_gradients_show_no_precision() -> None:
    """Only the probe of the sum is right, whose gradient is ones."""
    assert learned(keeping.SingleLater).dtype == "float32"


def learned(kind: type) -> Capabilities:
    return adapt(kind, "mine").capabilities


SUM = "    def sum(self):"


@pytest.mark.parametrize(
    ("does", "called"),
    [
        ("self.grad = None", True),
        ("pass", True),  # it should, and a case says that it does not
        ("self.grad, self.makers = None, []", False),
        ("raise ValueError", False),
    ],
    ids=["its own", "nothing", "cuts the graph", "raises"],
)
def test_a_clearing_method_clears_one_tensor(variant: Callable[..., type], does: str, called: bool) -> None:
    kind = variant((SUM, f"    def zero_grad(self):\n        {does}\n\n{SUM}"))
    engine = adapt(kind, "mine")
    assert not engine.capabilities.not_understood
    assert engine.api.clearing_name == ("zero_grad" if called else "")


TOGETHER: list[Any] = []


class Together(sound.Tensor):
    """A tensor takes no more after a pass, until one clears all."""

    done = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        TOGETHER.append(self)

    def receive(self, gradient: Any) -> None:
        self.grad, self.done = self.grad if self.done else gradient, True

    def zero_grad(self) -> None:
        for tensor in TOGETHER:
            tensor.grad, tensor.done = None, False


def test_gradients_that_are_only_cleared_together_are_not_cleared_alone(check: Callable[..., CaseResult]) -> None:
    steps = "steps: [{backward: y}, {zero_grad: all}, {forward: {a: 1.5}}, {backward: y}]\n"
    text = "inputs: {a: 2.0, b: 3.0}\ngraph: {c: a * b, y: c + a}\n"
    assert check(Together, text + "backward: y\n", trials=1).status == "passed"
    assert check(Together, text + steps, trials=1).status == "unsupported"
    assert adapt(Together, "mine").capabilities.not_understood == ""


def test_results_and_gradients_may_be_less_precise(variant: Callable[..., type]) -> None:
    single = variant(("self.data = np.asarray(data)", "self.data = np.asarray(data, np.float32)"))
    assert made_dtype(adapt(variant(), "mine")) == "float64"
    assert made_dtype(adapt(single, "mine")) == "float32"
    lately = variant(
        ("tensor.grad = whole if", "whole = np.asarray(whole, np.float32)\n            tensor.grad = whole if")
    )
    engine = adapt(lately, "mine")
    assert made_dtype(engine) == "float64"
    assert engine.capabilities.dtype == "float32"


def test_a_python_number_is_float64(number: type) -> None:
    engine = adapt(number, "mine")
    assert made_dtype(engine) == lowest_dtype(engine, UNKNOWN, []) == "float64"
