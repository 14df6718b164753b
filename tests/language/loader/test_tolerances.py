"""`tolerance`: for every tensor, for one, for the engines."""

from __future__ import annotations

import pytest

from gradcheck.language.case import StatedTolerance
from gradcheck.language.loader.tolerances import read
from tests.language.loader.cases import scope


def test_common_ones_those_of_a_tensor_and_those_of_engines() -> None:
    names, errors = scope("inputs: {x: 1}\n")
    said = {"rtol": 1, "x": {"atol": 0.5}, "engines": {"rtol": 0}}
    assert read(names, said) == (
        {"": StatedTolerance(rtol=1.0), "x": StatedTolerance(atol=0.5)},
        StatedTolerance(rtol=0.0),
    )
    assert read(names, {}) == ({}, None)
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
def test_mistakes(said: dict[str, object], message: str) -> None:
    names, errors = scope("inputs: {x: 1}\n")
    read(names, said)
    assert [error.message for error in errors] == [message]
