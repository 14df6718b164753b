"""Did you mean."""

from __future__ import annotations

from gradcheck.language.suggest import did_you_mean, nearest


def test_the_nearest_word():
    assert nearest("kepdim", ["dim", "keepdim"]) == "keepdim"
    assert nearest("Tensor", ["tensor", "tan"]) == "tensor"
    assert nearest("zzz", ["dim"]) == ""
    assert nearest("d" * 10_000, ["d" * 9_999]) == ""
    assert did_you_mean("dimm", ["dim"], "else") == "did you mean 'dim'?"
    assert did_you_mean("zzz", ["dim"], "else") == "else"


def test_case_is_no_matter_and_two_letters_of_three_are_near() -> None:
    assert nearest("DIM", ["dim"]) == "dim"
    assert nearest("dmi", ["dim"]) == "dim"
    assert nearest("ab", ["ac"]) == ""
