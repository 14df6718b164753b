"""Bytes become text, text the documents in it, and plain scalars what YAML 1.2 says."""

from __future__ import annotations

import math
import sys
import tracemalloc

import pytest

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.loader import load_text
from gradcheck.language.loader.yaml_text import decode, documents, resolve
from tests.language.loader.cases import VALID, one


def test_a_marker_inside_a_block_of_text_divides_documents_as_yaml_says() -> None:
    cases, errors = load_text(f"description: |\n  a\n  --- b\n{VALID}", "f.yaml")
    assert not errors
    assert cases[0].description == "a\n--- b\n"


def test_directives_belong_to_the_next_document() -> None:
    cases, errors = load_text(f"%YAML 1.2\n---\n{VALID}...\n# a\n%YAML 1.1\n# b\n--- # c\n{VALID}", "f.yaml")
    assert not errors
    assert [case.place.line for case in cases] == [3, 13]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1" + "0" * 308, None),
        ("-1" + "0" * 308, None),
        (str(int(sys.float_info.max)), None),
        ("0x" + "f" * 200, None),
        ("1" + "0" * 309, "is too large for a float64"),
        ("-1" + "0" * 309, "is too large for a float64"),
        ("9" * 401, "the number 99999999999999999999… is too large for a float64"),
        ("0x" + "f" * 400, "is too large for a float64"),
        ("0o" + "7" * 900, "is too large for a float64"),
        ("1e400", "is too large for a float64"),
        ("9" * 1_001, "has 1,001 digits"),
        ("-" + "9" * 5_000, "has 5,001 digits"),
        ("0x" + "f" * 5_000, "has 5,002 digits"),
    ],
)
def test_every_number_is_a_float64(text: str, message: str | None) -> None:
    if message is None:
        assert math.isfinite(float(resolve(text)))  # type: ignore[arg-type]
    else:
        with pytest.raises(OverflowError, match=message):
            resolve(text)


def test_bytes_become_text_with_one_kind_of_line_break() -> None:
    assert decode("\ufeffa: θ\r\nb: 1\rc: 2\n".encode(), "f.yaml") == "a: θ\nb: 1\nc: 2\n"


@pytest.mark.parametrize(
    ("raw", "message", "column"),
    [
        (b"a: \xff", "the byte 0xff is not UTF-8", 4),
        (b"\xff\xfea", "the file is in UTF-16", 1),
        (b"a\x00", "a NUL byte", 2),
    ],
)
def test_what_is_no_text_is_refused_at_its_place(raw: bytes, message: str, column: int) -> None:
    with pytest.raises(InvalidCase, match=message) as caught:
        decode(raw, "f.yaml")
    assert caught.value.place == Place("f.yaml", 1, column)


def test_documents_come_with_their_first_line_and_empty_ones_not_at_all() -> None:
    assert list(documents("a: 1\n---\n# nothing\n--- # b\nb: 2\n...\n")) == [("a: 1\n", 1), ("--- # b\nb: 2\n", 4)]
    assert list(documents("")) == []
    assert list(documents("a: '---'\n")) == [("a: '---'\n", 1)]  # no marker: it does not begin the line


@pytest.mark.parametrize("line", ["\n", "# no case\n", "%YAML 1.2\n"])
def test_lines_without_a_document_take_no_memory(line: str) -> None:
    text = line * 200_000
    tracemalloc.start()
    assert not list(documents(text)) or line.startswith("%")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(text)


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
