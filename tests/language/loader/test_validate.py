"""A document against the model: every mistake is told, and the rest passes."""

from __future__ import annotations

import pytest

from gradcheck.errors import Place
from gradcheck.language.loader.validate import AllNames, check
from tests.language.loader.cases import document

DTYPES = "float64, float32, float16, bfloat16, complex64 or complex128"


def test_what_is_right_passes() -> None:
    checked = check(document("inputs: {x: 1}\nbackward: z\n"))
    assert checked.errors == []
    assert checked.model.inputs == {"x": 1}
    assert checked.model.backward == {"z": None}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("inputs: 3", "'inputs' takes a mapping, not the number 3", "write 'name: value'"),
        (
            "dtype: flaot32",
            f"'dtype' takes {DTYPES}, not",
            "float32",
        ),
        (
            "dtype: 3",
            f"'dtype' takes {DTYPES}, not the number 3",
            "",
        ),
        ("seed: 1.5", "'seed' takes an integer, not the number 1.5", ""),
        ("dims: {n: -1}", "'dims.n' takes a number from 0, not the number -1", ""),
        ("tags: a", "'tags' takes a list, not the text 'a'", "write [a]"),
        ("skip:", "'skip' has no value, it takes text", "leave it out or fill it in"),
        ("steps: []", "'steps' takes at least one entry, not 0", ""),
        ("only: []", "'only' takes at least one entry, not 0", ""),
        ("generalize: {dims: {n: [1, 2, 3]}}", "'generalize.dims.n' takes 2 entries at most, not 3", ""),
        ("formulae: {x: 1}", "unknown key 'formulae'", "did you mean 'formulas'?"),
        ("[1]", "a case is a mapping, not a list", "a case begins with keys"),
    ],
)
def test_mistakes(text: str, message: str, hint: str) -> None:
    (error,) = check(document(text)).errors
    assert error.message.startswith(message)
    assert hint in error.hint


def test_what_is_wrong_is_left_out_and_its_names_are_excused() -> None:
    checked = check(document("dims: {n: x, m: 2}\ngraph: {y: x}\nseed: no\n"))
    assert sorted(error.place for error in checked.errors) == [Place("f.yaml", 1, 11), Place("f.yaml", 3, 7)]
    assert (checked.model.dims, checked.model.seed, checked.model.graph) == ({"m": 2}, 0, {"y": "x"})
    assert {"n", "seed"} <= checked.possibly_defined
    assert "dims" in checked.broken


def test_a_section_that_is_lost_excuses_every_name() -> None:
    assert "whatever" in check(document("graph: 3")).possibly_defined
    assert "whatever" in AllNames()


def test_keys_that_were_meant_are_known_by_themselves() -> None:
    assert check(document("input: {x: 1}\ngrpah: {y: 1}")).intended_keys == {"inputs", "graph"}


def test_the_known_keys_are_listed_once() -> None:
    errors = check(document("wibble: 1\nwobble: 2\nsteps: [{inputs: {x: 1}}]")).errors
    assert sum("the keys here are" in error.hint for error in errors) == 1
    assert any("belongs to the case itself" in error.hint for error in errors)
