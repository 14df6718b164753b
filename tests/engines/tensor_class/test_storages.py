"""Arrays of somebody's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.engines.tensor_class.storages import MAX_ELEMENTS, array_of, is_storage

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


class Base:
    shape: Any = (2, 3)


class Tupled(Base):
    def __getitem__(self, index: Any) -> float:
        row, column = index
        return ROWS[row][column]


class Nested(Base):
    def __getitem__(self, index: int) -> list[float]:
        return ROWS[index]


class Listed(Base):
    def to_list(self) -> Any:
        return ROWS


class Flat(Base):
    def __init__(self) -> None:
        self._data = [number for row in ROWS for number in row]


class Holder(Base):
    """It can neither be indexed nor converted: a device's array, as it were."""

    def __init__(self) -> None:
        self.data = np.array(ROWS)


@pytest.mark.parametrize("kind", [Tupled, Nested, Listed, Flat, Holder])
def test_numbers_are_read_by_what_there_is(kind: type) -> None:
    np.testing.assert_array_equal(np.asarray(array_of(kind())), ROWS)
    assert is_storage(kind())


def test_what_is_no_such_array() -> None:
    large = Tupled()
    large.shape = (MAX_ELEMENTS + 1, 1)
    unknown = Tupled()
    unknown.shape = ("n", 3)
    assert array_of(large) is array_of(unknown) is array_of(Base()) is array_of(7.0) is array_of(Tupled) is None
    assert not is_storage(np.ones(2))
    assert not is_storage(unknown)


def test_a_single_number_has_no_index() -> None:
    class Single:
        shape = ()
        data = [7.0]  # noqa: RUF012

    assert array_of(Single()) == 7.0
