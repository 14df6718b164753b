"""Nested lists become arrays, and what is no tensor is told at its indices."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import Place
from gradcheck.language.loader import load_text
from gradcheck.language.loader.array_literals import ListError, cast, has_broken, to_array
from gradcheck.language.loader.yaml_document import BROKEN


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (3, np.int64, ()),
        ([[1, 2.5]], np.float64, (1, 2)),
        ([], np.float64, (0,)),
        ([[], []], np.float64, (2, 0)),
        ([True, False], np.bool_, (2,)),
        ([1, "2 - 3j"], np.complex128, (2,)),
        ([2**63], np.float64, (1,)),
    ],
)
def test_arrays(data: object, dtype: type, shape: tuple[int, ...]) -> None:
    array = to_array(data)
    assert (array.dtype, array.shape) == (dtype, shape)


@pytest.mark.parametrize(
    ("data", "message", "indices", "hint"),
    [
        ([[1, 2], [3]], "the list is ragged: row [1] has 1 entry, row [0] has 2 entries", (1,), "equally long"),
        ([[1], 2], "the list is ragged: row [1] has a single number, row [0] has 1 entry", (1,), "equally long"),
        ([1, [2]], "the list is ragged: row [1] has 1 entry, row [0] has a single number", (1,), "equally long"),
        ([[1, None]], "nothing (null) is not a number", (0, 1), ".nan"),
        ([[1], ["1 2"]], "the text '1 2' is not a number", (1, 0), "commas between"),
        ([1, True], "booleans and numbers in one list", (1,), "write 1 and 0"),
        (["yes"], "the text 'yes' is not a number", (0,), "true and false"),
    ],
)
def test_what_is_no_tensor(data: object, message: str, indices: tuple[int, ...], hint: str) -> None:
    with pytest.raises(ListError) as caught:
        to_array(data)
    assert (caught.value.message, caught.value.indices) == (message, indices)
    assert hint in caught.value.hint


def test_an_error_has_its_place_in_the_document() -> None:
    (error,) = load_text("inputs: \n x:\n  - [1, 2]\n  - [3, oops]\ngraph: {y: x}", "f.yaml")[1]
    assert error.place == Place("f.yaml", 4, 9)


def test_what_could_not_be_read_is_found_at_any_depth() -> None:
    assert has_broken([[1, [BROKEN]]])
    assert not has_broken([[1, [2]]])


@pytest.mark.parametrize(
    ("values", "name", "index"),
    [([1, 300], "int8", (1,)), ([[0, 1.5]], "int32", (0, 1)), ([1e10], "float16", (0,)), ([0, 2], "bool", (1,))],
)
def test_a_cast_names_the_first_number_that_does_not_fit(values: object, name: str, index: tuple[int, ...]) -> None:
    with pytest.raises(ListError, match=f"does not fit in {name}") as caught:
        cast(np.array(values), name)
    assert caught.value.indices == index


def test_numbers_that_fit_are_cast() -> None:
    assert cast(np.array([0, 1]), "bool").dtype == np.bool_
    assert cast(np.array([np.inf, 1.5]), "float16").dtype == np.float16
    with pytest.raises(ListError, match="a complex number does not fit"):
        cast(np.array([1j]), "float64")
