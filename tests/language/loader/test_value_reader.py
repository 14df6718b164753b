"""Values in their places: their forms, and which dtypes an input, a constant or a claim may have; and `tolerance`."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import Place
from gradcheck.language.case import StatedTolerance
from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader import load_text
from gradcheck.language.loader.value_reader import ListError, cast, has_broken, read_tolerances, to_array
from gradcheck.language.loader.yaml_document import BROKEN
from tests.language.loader.cases import VALID, scope, with_x, wrong


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        ("3", np.int64, ()), ("3.5", np.float64, ()), ("true", np.bool_, ()), ("[]", np.float64, (0,)),
        ("[[], []]", np.float64, (2, 0)), ("[1, 2.5]", np.float64, (2,)), ("[true, false]", np.bool_, (2,)),
        ("[1, '2+3j']", np.complex128, (2,)), ("['-1 - 2.5j']", np.complex128, (1,)), ("[.inf]", np.float64, (1,)),
        ("{values: [], shape: [0, 3]}", np.float64, (0, 3)), ("{shape: [2, 0]}", np.float64, (2, 0)),
        ("{values: [1, 2], dtype: int8}", np.int8, (2,)), ("{values: [1, 2], dtype: torch.half}", np.float16, (2,)),
        ("{values: [1, 2, 3, 4], shape: [2, 2]}", np.int64, (2, 2)), ("{values: 1, shape: [1, 1]}", np.int64, (1, 1)),
        ("{values: [0, 1], dtype: bool}", np.bool_, (2,)), ("[9223372036854775807]", np.int64, (1,)),
        ("[9223372036854775808]", np.float64, (1,)), ("[[[1]], [[2]]]", np.int64, (2, 1, 1)),
    ],
)  # fmt: skip
def test_values(text: str, dtype: type, shape: tuple[int, ...]) -> None:
    array = with_x(constants=f"{{c: {text}}}").constants["c"].array
    assert array.dtype == dtype
    assert array.shape == shape


def test_a_value_of_text_with_a_dtype_and_a_shape() -> None:
    value = with_x(constants="{c: {values: arange(6), shape: [2, 3], dtype: int32}}").constants["c"]
    assert to_text(value.expr) == "reshape(to(arange(6), torch.int32), [2, 3])"
    assert value.dtype == "int32"


@pytest.mark.parametrize(
    ("section", "text", "message"),
    [
        ("constants", "{c: {values: 1, dtpe: int8}}", "unknown key 'dtpe'"),
        ("constants", "{c: {dtype: int8}}", "'constants.c' lacks its values"),
        ("constants", "{c: {values: [1, 2], shape: [3]}}", "2 numbers do not fill the shape [3]"),
        ("constants", "{c: {values: [300], dtype: int8}}", "300 does not fit in int8"),
        ("constants", "{c: null}", "'constants.c' has no value"),
        ("inputs", "{x: [true]}", "an input holds numbers, not booleans"),
        ("inputs", "{x: {values: [1], dtype: int8}}", "an input cannot be int8, since it requires a gradient"),
        ("expected", "{x: randn(3)}", "'randn' draws random numbers"),
    ],
)
def test_values_out_of_place(section: str, text: str, message: str) -> None:
    rest = "graph: {y: x}\n" if section == "inputs" else VALID
    assert any(message in found for found, _ in wrong(f"{section}: {text}\n{rest}"))


def test_common_tolerances_those_of_a_tensor_and_those_of_engines() -> None:
    names, errors = scope("inputs: {x: 1}\n")
    said = {"rtol": 1, "x": {"atol": 0.5}, "engines": {"rtol": 0}}
    assert read_tolerances(names, said) == (
        {"": StatedTolerance(rtol=1.0), "x": StatedTolerance(atol=0.5)},
        StatedTolerance(rtol=0.0),
    )
    assert read_tolerances(names, {}) == ({}, None)
    assert errors == []


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"rtoll": 1}, "unknown key 'rtoll'"),
        ({"rtol": -1}, "'rtol' takes a number from 0, not the number -1"),
        ({"rtol": True}, "'rtol' takes a number from 0, not true"),
        ({"x": {"atol": float("inf")}}, "'atol' takes a number from 0, not the number inf"),
        ({"q": {"atol": 1}}, "the tensor 'q' is unknown"),
    ],
)
def test_mistakes_in_tolerances(said: dict[str, object], message: str) -> None:
    names, errors = scope("inputs: {x: 1}\n")
    read_tolerances(names, said)
    assert [error.message for error in errors] == [message]


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
