"""Classes whose leaves get their numbers when the graph is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.fed_graph import SAMPLE, data_makers, fed_graph_of, later_makers, maker_of
from gradcheck.errors import UsageError
from tests.engines.dialects import assigning, fed
from tests.engines.dialects.test_dialects import judged, named
from tests.engines.tensor_class.plain import Plain


@pytest.mark.parametrize("kind", [fed.Node, fed.variable], ids=["the class", "what makes leaves"])
def test_a_graph_is_run_with_the_numbers_of_its_leaves(kind: type) -> None:
    for name in ("reuse", "matrices"):
        found = judged(kind, name)
        assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
        assert {"a", "b"} <= {c.tensor for c in found.comparisons if c.what == "gradient"}


def test_a_wrong_sum_of_gradients_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fed, "put_together", lambda first, second: second)
    found = judged(fed.Node, "reuse")
    assert found.status == "failed"
    assert named(found) & {"overwritten", "use_dropped"}


def test_a_leaf_has_its_own_numbers_in_each_run() -> None:
    graph = fed_graph_of(fed.Node, None)
    assert graph is not None
    data = np.array([1.0, 2.0])
    a, b = graph(data), graph([3.0, 4.0])
    data[:] = 0
    assert graph.values(a * b).tolist() == [3.0, 8.0]
    assert fed_graph_of(Plain, None) is None


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


def test_a_name_is_no_number() -> None:
    """A class that is made of a name, and has no way to get a number, is none: its values are NaN for ever."""

    class Locked(assigning.Named):
        assign = None  # type: ignore[assignment]

        def value(self) -> float:
            return float("nan")

    leaf = next(later_makers(assigning.Named))(2.5)
    assert (leaf.value(), leaf.name[0]) == (2.5, "v")
    with pytest.raises(UsageError, match="does not hold the number"):
        adapt(Locked, "mine")
