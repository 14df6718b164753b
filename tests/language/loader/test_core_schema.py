"""Plain scalars mean what YAML 1.2 says."""

from __future__ import annotations

import math

import pytest

from gradcheck.language.loader.core_schema import resolve
from tests.language.loader.cases import one


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("Null", None), ("nULL", "nULL"),
        ("true", True), ("False", False), ("yes", "yes"), ("no", "no"), ("on", "on"), ("y", "y"),
        ("0", 0), ("-1", -1), ("+7", 7), ("010", 10), ("0o17", 15), ("0x1F", 31), ("0b1", "0b1"), ("1_000", "1_000"),
        ("1.", 1.0), (".5", 0.5), ("-.5e3", -500.0), ("1e3", 1000.0), ("1e-3", 1e-3), ("1E+2", 100.0), ("e3", "e3"),
        (".inf", math.inf), ("-.INF", -math.inf), ("+.Inf", math.inf), ("inf", "inf"), (".", "."), ("-", "-"),
        ("1:30", "1:30"), ("2001-01-01", "2001-01-01"), ("0o8", "0o8"), ("-0x1", "-0x1"), ("٣", "٣"), ("1e", "1e"),
        ("9" * 18, int("9" * 18)), ("9" * 19, int("9" * 19)), ("x * 2", "x * 2"), ("1.2.3", "1.2.3"), ("+", "+"),
    ],
)  # fmt: skip
def test_the_core_schema(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_and_numbers_beyond_all_bounds() -> None:
    assert math.isnan(resolve(".NaN"))  # type: ignore[arg-type]
    for text in ("1e400", "-1e999", "9" * 2000, "0x" + "f" * 2000):
        with pytest.raises(OverflowError):
            resolve(text)


def test_keys_are_text_and_quoted_scalars_are_text() -> None:
    case = one("inputs: {on: 1, y: 2, e: 3, n: '4'}\ngraph: {no: on * y, sum: no.sum() + e + n}\n")
    assert list(case.inputs) == ["on", "y", "e", "n"]
    assert list(case.graph) == ["no", "sum"]
    assert case.inputs["n"].expr is not None
