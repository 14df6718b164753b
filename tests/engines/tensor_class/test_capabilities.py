"""What a backward pass takes and keeps, of classes that differ in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.tensor_class.api import api_of
from gradcheck.engines.tensor_class.capabilities import Capabilities, capabilities_of, seeded

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
        ((), Capabilities("array", True, True)),
        ((TENSORS,), Capabilities("tensor", True, True)),
        ((NO_SEED,), Capabilities("none", True, True)),
        ((LEAVES_ONLY,), Capabilities("array", False, True)),
        ((TOLD, TELLING), Capabilities("array", True, True)),
        ((IDLE,), Capabilities("array", True, False)),
        ((ONCE,), Capabilities("array", True, False)),
        ((MUTE,), Capabilities("array", True, False)),
    ],
)
def test_what_is_learned(variant: Callable[..., type], replacements: Any, found: Capabilities) -> None:
    assert capabilities_of(api_of(variant(*replacements), "Tensor")) == found


def test_a_class_that_cannot_multiply_may_add(variant: Callable[..., type]) -> None:
    kind = variant(("def __mul__(self, other):", "def __mul__(self, other):\n        raise TypeError"), TENSORS)
    assert capabilities_of(api_of(kind, "Tensor")).seed == "tensor"


def test_a_class_of_numbers_takes_no_gradient(number: type) -> None:
    assert capabilities_of(api_of(number, "Number")) == Capabilities("none", True, True)


def test_an_incoming_gradient_as_it_is_taken(variant: Callable[..., type]) -> None:
    api, incoming = api_of(variant(), "Tensor"), np.array([1.0, 2.0])
    assert seeded(api, "none", incoming) == ()
    (array,) = seeded(api, "array", incoming)
    assert array is not incoming
    assert array.tolist() == [1, 2]
    (tensor,) = seeded(api, "tensor", incoming)
    assert api.is_tensor(tensor)
