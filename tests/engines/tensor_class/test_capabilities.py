"""Incoming gradients by capabilities, and conventions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.tensor_class.api_discovery import api_of
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, as_seed, class_conventions
from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say


def test_incoming_gradients_have_the_seed_kind(variant: Callable[..., type]) -> None:
    api, incoming = api_of(variant(), "Tensor"), np.array([1.0, 2.0])
    array = as_seed(api, "array", incoming)
    assert array is not incoming
    assert array.tolist() == [1, 2]
    tensor = as_seed(api, "tensor", incoming)
    assert api.is_tensor(tensor)


def test_an_assigned_seed_is_no_argument(variant: Callable[..., type]) -> None:
    api, incoming = api_of(variant(), "Tensor"), np.array([1.0, 2.0])
    assert as_seed(api, "assigned array", incoming).tolist() == [1, 2]
    assert api.is_tensor(as_seed(api, "assigned tensor", incoming))


def test_a_scalar_class_takes_a_number(number: type) -> None:
    assert as_seed(api_of(number, "Number"), "array", np.array(2.5)) == 2.5


def test_a_class_like_torch_has_no_conventions() -> None:
    assert [*class_conventions(UNKNOWN, False)] == []


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"dtype": "float32"}, fact("computes_in", dtype="float32")),
        ({"mutates_arrays": True}, fact("mutates_arrays")),
        ({"total_shape": (1,)}, fact("totals_have_shape", shape=(1,))),
        ({"tracks_constants": True}, fact("constants_are_tracked")),
        ({"keeps_intermediates": False}, fact("keeps_no_intermediates")),
        ({"keeps_roots": False, "adds_to_roots": False}, fact("keeps_no_roots")),
        ({"adds_to_roots": False}, fact("sets_roots_anew")),
        ({"adds_to_intermediates": False, "adds_to_roots": False}, fact("sets_intermediates_anew")),
        ({"keeps_graph": False}, fact("keeps_no_graph")),
        ({"seed": "none"}, fact("takes_no_incoming_gradient")),
    ],
)
def test_each_deviation_is_one_fact(changed: dict[str, Any], found: Fact) -> None:
    assert [*class_conventions(replace(UNKNOWN, **changed), False)] == [found]
    assert say(found)


def test_a_scalar_class_needs_no_seed() -> None:
    assert [*class_conventions(replace(UNKNOWN, seed="none"), True)] == []


def test_a_class_that_is_not_understood_has_one_fact() -> None:
    (told,) = class_conventions(replace(UNKNOWN, not_understood="it raises", dtype="float32"), False)
    assert say(told).startswith("it is not understood, so nothing is checked: it raises. Tried were")
