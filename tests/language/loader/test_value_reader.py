"""Values in their places: their forms, and which dtypes an input, a constant or a claim may have; and `tolerance`."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.language.case import StatedTolerance
from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader.value_reader import read_tolerances
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
