"""What else holds of a class that is understood."""

from __future__ import annotations

from typing import Any

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.capabilities import Capabilities
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
