"""Each kind of number has one format."""

from __future__ import annotations

import pytest

from gradcheck.facts import fact
from gradcheck.reports import number_formats
from gradcheck.reports.number_formats import format_cell, format_duration, format_error, format_pair, percentage
from gradcheck.reports.phrases import say


@pytest.mark.parametrize(
    ("got", "want", "shown"),
    [
        (4.0, 8.0, ("4", "8")),
        (0.5, 0.25, ("0.5", "0.25")),
        (1.0, 1.0 + 1e-12, ("1", "1.000000000001")),
        (float("nan"), 1.5, ("nan", "1.5")),
        (float("-inf"), 1e300, ("-inf", "1e+300")),
        (1 + 2j, 1 - 2j, ("1+2j", "1-2j")),
        (None, 3.0, ("none", "3")),
    ],
)
def test_pair_shows_as_few_digits_as_tell_the_two_apart(got: object, want: object, shown: tuple[str, str]) -> None:
    assert format_pair(got, want) == shown  # type: ignore[arg-type]


def test_pair_of_neighbouring_floats_differs() -> None:
    got, want = format_pair(0.1, 0.1 + 2**-56)
    assert got != want


def test_errors_have_three_digits() -> None:
    assert (format_error(1 / 3), format_error(1e-17), format_error(None)) == ("0.333", "1e-17", "unknown")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0.00s"), (0.994, "0.99s"), (4.25, "4.2s"), (59.94, "59.9s"), (200.9, "3m 20s")]
)
def test_durations_are_as_exact_as_people_need(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_cells_are_short() -> None:
    assert [format_cell(value) for value in (2.0, 1 / 3, 1 + 0.5j, float("nan"), True)] == [
        *("2", "0.3333", "1+0.5j", "nan", "True")
    ]


def test_shares() -> None:
    assert (percentage(1, 3), percentage(1, 3, 1), percentage(0, 0)) == ("33%", "33.3%", "0%")


def test_one_more_digit_is_one_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fact("differences_cannot_confirm", error=1.25e-3)
    assert "0.001" in say(found)
    monkeypatch.setitem(number_formats.NUMBER_FORMATS, "bar", ".2g")
    assert "0.0013" in say(found) or "0.0012" in say(found)
    assert number_formats.format_error(1.2345) == "1.23"
    monkeypatch.setitem(number_formats.NUMBER_FORMATS, "error", ".4g")
    assert number_formats.format_error(1.2345) in ("1.234", "1.235")
