"""Further capabilities, clearing methods and precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities
from gradcheck.engines.tensor_class.traits import lowest_dtype, made_dtype
from tests.engines.dialects import answering, diseases, keeping, sound


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
