"""What hints propose, written into a text: in its place, alone, and only where it mends something."""

from __future__ import annotations

import pytest

from gradcheck.errors import Hint, Place
from gradcheck.language.loader.case_files import load_text
from gradcheck.language.loader.hint_corrections import (
    Correction,
    apply_corrections,
    apply_verified_corrections,
    correction_from_hint,
)


def at(line: int, column: int, old: str, new: str, error: str = "") -> Correction:
    return Correction(Place("f.yaml", line, column), old, new, error)


def test_texts_are_replaced_in_their_places() -> None:
    text, made = apply_corrections("abc\nabc\r\n", [at(1, 1, "a", "xyz"), at(2, 3, "c", ""), at(1, 3, "c", "d")])
    assert text == "xyzbd\nab\r\n"
    assert len(made) == 3


@pytest.mark.parametrize("wrong", [at(1, 2, "a", "x"), at(9, 1, "a", "x"), at(1, 1, "abcd", "x")])
def test_what_does_not_stand_there_is_left(wrong: Correction) -> None:
    assert apply_corrections("abc\n", [wrong]) == ("abc\n", [])


def test_of_two_that_overlap_the_first_is_made() -> None:
    assert apply_corrections("abc", [at(1, 1, "ab", "x"), at(1, 2, "bc", "y")])[0] == "xc"


def test_only_hints_that_know_an_edit_propose_one() -> None:
    place = Place("f.yaml", 1, 1)
    assert correction_from_hint("did you mean 'x'?", place) is None
    assert correction_from_hint(Hint("write x"), place) is None
    assert correction_from_hint(Hint("write x", "y", "x"), place) == at(1, 1, "y", "x")
    assert correction_from_hint(Hint("write x", "y", "x", Place("f.yaml", 2, 2)), place) == at(2, 2, "y", "x")


TEXT = "inputs: {x: [1, 2]}\ngraph: {y: x.sume()}\n"


def test_what_mends_its_error_is_taken() -> None:
    (error,) = load_text(TEXT, "f.yaml")[1]
    one = correction_from_hint(error.hint, error.place, error.message)
    assert one is not None
    assert apply_verified_corrections(TEXT, "f.yaml", [one]) == (TEXT.replace("sume", "sum"), [one])


def test_what_does_not_is_left() -> None:
    (error,) = load_text(TEXT, "f.yaml")[1]
    worse = Correction(error.place, "sume", "sumee", error.message)
    other = Correction(error.place, "sume", "sumes", "there is no method 'sume'")
    assert apply_verified_corrections(TEXT, "f.yaml", [worse]) == (TEXT, [])
    assert apply_verified_corrections(TEXT, "f.yaml", [other]) == (TEXT, [])
