"""Kinds of claims, and their order."""

from __future__ import annotations

import pytest

from gradcheck.language.claim_kind import ClaimKind


def test_kinds_are_the_words_of_the_json() -> None:
    assert [kind.value for kind in ClaimKind] == [str(kind) for kind in ClaimKind]
    assert ClaimKind("gradient2") is ClaimKind.GRADIENT2


def test_a_cause_ranks_before_what_follows_from_it() -> None:
    order = (ClaimKind.RAISES, ClaimKind.VALUE, ClaimKind.NODE, ClaimKind.GRADIENT, ClaimKind.FORMULA)
    assert sorted(order, key=lambda kind: kind.rank) == list(order)
    assert ClaimKind.EXPECTED.rank == ClaimKind.GRADIENT.rank
    assert ClaimKind.EXPECTED_VALUE.rank == ClaimKind.VALUE.rank


@pytest.mark.parametrize(
    ("kind", "of_file", "general", "about"),
    [
        (ClaimKind.GRADIENT, False, False, "gradient"),
        (ClaimKind.EXPECTED, True, False, "gradient"),
        (ClaimKind.FORMULA, True, True, "gradient"),
        (ClaimKind.VALUE, False, False, "value"),
        (ClaimKind.EXPECTED_VALUE, True, False, "value"),
        (ClaimKind.CHECK, True, True, ""),
        (ClaimKind.WRONG_FORMULA, True, True, ""),
        (ClaimKind.NODE, False, False, ""),
    ],
)
def test_what_kinds_have_in_common(kind: ClaimKind, of_file: bool, general: bool, about: str) -> None:
    assert (kind.is_stated_by_file, kind.is_general) == (of_file, general)
    assert (kind.is_about_gradient, kind.is_about_value) == (about == "gradient", about == "value")
