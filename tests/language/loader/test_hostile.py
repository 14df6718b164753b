"""Whatever stands in a case file, wherever it stands, is read or told with its place: it is never a crash."""

from __future__ import annotations

import pytest

from gradcheck.errors import InvalidCase
from gradcheck.language.crash import Crash
from gradcheck.language.loader import load_text
from gradcheck.language.loader.yaml_text import decode
from gradcheck.language.value_precheck import find_value_errors
from tests.hostile import PLACES, VALUES, text_of


def errors_in(text: bytes) -> tuple[int, list[InvalidCase]]:
    """How many cases there are in a file, and all that is said against it."""
    try:
        cases, errors = load_text(decode(text, "f.yaml"), "f.yaml")
    except InvalidCase as error:
        return 0, [error]
    return len(cases), errors + [error for case in cases for error in find_value_errors(case)]


def is_well_told(error: InvalidCase) -> bool:
    """Whether it is no crash, has its place, and can be read."""
    return not isinstance(error, Crash) and bool(error.place.line and error.place.column) and len(str(error)) < 700


@pytest.mark.parametrize("place", PLACES)
def test_every_value_in_every_place(place: str) -> None:
    wrong = []
    for value in VALUES:
        cases, errors = errors_in(text_of(place, value))
        if not cases and not errors:
            wrong.append(f"{value}: nothing is said")
        wrong += [f"{value}: {error}" for error in errors if not is_well_told(error)]
    assert not wrong, "\n".join(wrong)


#: Places in which a number of any size might be taken for one.
NUMBERS = [
    place
    for place in PLACES
    if not place.startswith("a ") and ("[0]" in place or place.count(".") == 1 or place in ("seed", "rtol"))
]


@pytest.mark.parametrize("place", NUMBERS)
@pytest.mark.parametrize("value", ["401 digits", "-401 digits", "5000 digits", "long hex", "beyond float64"])
def test_a_number_that_no_float_can_hold_is_told_where_it_stands(place: str, value: str) -> None:
    _, errors = errors_in(text_of(place, value))
    told = [error for error in errors if "is too large for a float64" in error.message or "digits" in error.message]
    assert told, errors
    assert "infinity is written" in told[0].hint
