"""What else holds of a class that is understood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities
from gradcheck.engines.tensor_class.traits import lowest_dtype, made_dtype
from tests.engines.dialects import answering, diseases, keeping, sound


class Anew(sound.Tensor):
    """What is no leaf begins each pass without a gradient."""

    def spread(self, seed: Any) -> None:
        for tensor in self.order():
            tensor.grad = None if tensor.parents else tensor.grad
        super().spread(seed)


def test_whether_passes_add_to_what_is_no_leaf_is_learned() -> None:
    assert not learned(Anew).adds_to_intermediates
    assert learned(sound.Tensor).adds_to_intermediates
    sick = type("Sick", (diseases.Overwrites, sound.Tensor), {})
    assert learned(sick).adds_to_intermediates


def test_numpys_functions_are_a_classs_own_where_gradients_go_through_them() -> None:
    assert learned(answering.Array).answers_numpy
    assert not learned(answering.Detaching).answers_numpy
    assert not learned(sound.Tensor).answers_numpy


def test_a_precision_is_not_told_by_whole_numbers() -> None:
    """Of its lessons the sum alone is right, whose gradient is ones."""
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
def test_one_that_forgets_no_more_than_it_should_is(variant: Callable[..., type], does: str, called: bool) -> None:
    kind = variant((SUM, f"    def zero_grad(self):\n        {does}\n\n{SUM}"))
    engine = adapt(kind, "mine")
    assert not engine.capabilities.not_understood
    assert engine.api.clearing_name == ("zero_grad" if called else "")


def test_what_is_made_and_what_arrives_may_be_of_less_precision(variant: Callable[..., type]) -> None:
    single = variant(("self.data = np.asarray(data)", "self.data = np.asarray(data, np.float32)"))
    assert made_dtype(adapt(variant(), "mine")) == "float64"
    assert made_dtype(adapt(single, "mine")) == "float32"
    lately = variant(
        ("tensor.grad = whole if", "whole = np.asarray(whole, np.float32)\n            tensor.grad = whole if")
    )
    engine = adapt(lately, "mine")
    assert made_dtype(engine) == "float64"
    assert engine.capabilities.dtype == "float32"


def test_a_number_is_of_double_precision(number: type) -> None:
    engine = adapt(number, "mine")
    assert made_dtype(engine) == lowest_dtype(engine, UNKNOWN, []) == "float64"
