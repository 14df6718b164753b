"""What a tensor has under one of several names."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.members import candidates, method_of


class Tensor:
    data: Any = 1.0
    none = None

    def values(self) -> float:
        return 2.0

    def numpy(self) -> float:
        return 3.0


def test_the_first_method_of_these_names() -> None:
    found = method_of(Tensor(), ("absent", "data", "values", "numpy"))
    assert found is not None
    assert found() == 2.0
    assert method_of(Tensor(), ("absent", "data")) is None


def test_attributes_then_methods_in_order_and_what_is_absent_is_left_out() -> None:
    assert list(candidates(Tensor(), ("none", "absent", "values", "data"), ("numpy", "data"))) == [None, 2.0, 1.0, 3.0]


def test_an_array_that_can_be_called_is_not_called() -> None:
    class Called(np.ndarray):
        def __call__(self) -> None:
            raise AssertionError

    tensor = Tensor()
    tensor.data = np.zeros(2).view(Called)
    (found,) = candidates(tensor, ("data",), ())
    assert found is tensor.data
