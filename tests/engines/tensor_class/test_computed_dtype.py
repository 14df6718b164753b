"""In which precision a class computes."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.capabilities import UNKNOWN
from gradcheck.engines.tensor_class.computed_dtype import lowest_dtype, made_dtype


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
