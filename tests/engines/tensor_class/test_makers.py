"""Tensors of numbers for classes whose constructors take none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.makers import SAMPLE, data_makers, maker_of
from gradcheck.errors import UsageError
from tests.engines.dialects.test_dialects import judged


class Grid:
    """An array of a user's own."""

    def __init__(self, cells: Any) -> None:
        self.cells = np.asarray(cells, float)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cells.shape

    def numpy(self) -> np.ndarray:
        return self.cells

    def __add__(self, other: Any) -> Grid:
        return Grid(self.cells + getattr(other, "cells", other))

    def __mul__(self, other: Any) -> Grid:
        return Grid(self.cells * getattr(other, "cells", other))


class Strict:
    """A tensor that takes one kind of array alone."""

    kind: Any = Grid

    def __init__(self, data: Grid, parts: Any = ()) -> None:
        assert isinstance(data, self.kind), type(data)
        self.data, self.parts, self.grad = data, parts, None

    def __add__(self, other: Any) -> Any:
        return type(self)(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: Any) -> Any:
        return type(self)(self.data * other.data, ((self, other.data), (other, self.data)))

    def backward(self, gradient: Any = 1.0) -> None:
        self.grad = gradient if self.grad is None else self.grad + gradient
        for one, factor in self.parts:
            one.backward(factor * gradient if isinstance(factor, self.kind) else gradient)


class OfTorch(Strict):
    """The same, of torch's arrays."""

    kind = torch.Tensor

    def __init__(self, data: Any, parts: Any = ()) -> None:
        super().__init__(data, parts)


class Swapped(Strict):
    """A wrong one: each factor gets itself."""

    def __init__(self, data: Grid, parts: Any = ()) -> None:
        super().__init__(data, parts)

    def __mul__(self, other: Any) -> Any:
        return type(self)(self.data * other.data, ((self, self.data), (other, other.data)))


@pytest.mark.parametrize("kind", [Strict, OfTorch])
def test_the_data_of_another_class(kind: type) -> None:
    assert judged(kind, "sums").status == "passed"
    assert judged(kind, "bare").status == "passed"


def test_what_is_wrong_of_such_a_class_is_found() -> None:
    assert judged(Swapped, "bare").status == "failed"


def test_which_makers_there_are() -> None:
    assert next(data_makers(Strict)) is Grid
    assert list(data_makers(OfTorch)) == [torch.tensor]
    assert list(data_makers(lambda data: data)) == []
    assert maker_of(Grid, None) is None
    assert SAMPLE.shape == (2, 3)


def test_a_class_that_takes_nothing_says_so() -> None:
    class Never:
        def __init__(self, data: Grid) -> None:
            raise ValueError("not today")

    with pytest.raises(UsageError, match="not today"):
        adapt(Never, "mine")
