"""What a backward pass takes, as it is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcheck.engines.tensor_class.api_discovery import api_of
from gradcheck.engines.tensor_class.capabilities import assigned_seed, seed_arguments


def test_an_incoming_gradient_as_it_is_taken(variant: Callable[..., type]) -> None:
    api, incoming = api_of(variant(), "Tensor"), np.array([1.0, 2.0])
    assert seed_arguments(api, "none", incoming) == ()
    (array,) = seed_arguments(api, "array", incoming)
    assert array is not incoming
    assert array.tolist() == [1, 2]
    (tensor,) = seed_arguments(api, "tensor", incoming)
    assert api.is_tensor(tensor)


def test_an_incoming_gradient_that_is_assigned_is_no_argument(variant: Callable[..., type]) -> None:
    api, incoming = api_of(variant(), "Tensor"), np.array([1.0, 2.0])
    assert seed_arguments(api, "assigned array", incoming) == ()
    assert assigned_seed(api, "assigned array", incoming).tolist() == [1, 2]
    assert api.is_tensor(assigned_seed(api, "assigned tensor", incoming))
    assert assigned_seed(api, "array", incoming) is None


def test_a_class_of_numbers_takes_a_number(number: type) -> None:
    assert seed_arguments(api_of(number, "Number"), "array", np.array(2.5)) == (2.5,)
