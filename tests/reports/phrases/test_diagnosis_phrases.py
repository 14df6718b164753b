"""Mistakes that were recognised, word by word, where a phrase is more than a template."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say

AT_D, AT_E = fact("op_at", op="mul", entry="d"), fact("op_at", op="exp", entry="e")
PATH = fact("path_by_way_of", entry="e", above="d")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("perhaps", what=fact("wrong_sign")), "perhaps: the sign is wrong: it is -1 times what is right"),
        (fact("computed_at_points", points=1), "computed, this mistake gives what came out, at 1 point"),
        (fact("computed_at_points", points=3), "computed, this mistake gives what came out, at 3 points"),
        (
            fact("only_use_arrived", uses=2, use=AT_D),
            "accumulated by overwriting: of its 2 uses only the one in mul at d has arrived",
        ),
        (
            fact("two_uses_not_arrived", uses=4, one=AT_D, other=AT_E),
            "uses are dropped: of its 4 uses those in mul at d and exp at e have not arrived",
        ),
        (fact("uses_counted_twice", uses=1), "counted twice: its only use contributes a second time"),
        (fact("uses_counted_twice", uses=2), "counted twice: every use contributes a second time"),
        (
            fact(
                "passed_on_too_early",
                parts=(
                    fact("passed_on_when", name="p", reported=(AT_D, AT_E)),
                    fact("passed_on_each_time", name=fact("result_of", op="sin", entry="q"), first=AT_D),
                ),
            ),
            "passed on too early, before all children had reported: p passed on its gradient when only mul at d and "
            "exp at e had reported; the result of sin at q passed on what it had whenever a contribution arrived, mul "
            "at d first",
        ),
        (fact("path_not_there", path=fact("path", entry="e")), "the path through `e` is dropped"),
        (fact("path_sign", path=PATH), "the sign of the path through `e` (by way of `d`) is wrong"),
        (
            fact("path_alone_there", path=fact("path_use", op="mul", entry="d", number=1, count=2)),
            "only the path through mul at `d` (use 1 of 2) is there",
        ),
        (
            fact("incoming_is_ignored", instead=fact("ones_in_its_place")),
            "the incoming gradient is ignored: this is what comes of ones in its place",
        ),
        (
            fact("incoming_is_ignored", instead=fact("ones_for", tensor="y")),
            "the incoming gradient is ignored: this is what comes of ones in place of the gradient of y",
        ),
    ],
)
def test_how_contributions_are_put_together(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("broadcast_kept", axes=(0,)),
            "the broadcast is not undone: the sum over axis 0 of the incoming gradient's shape is missing",
        ),
        (
            fact("broadcast_one_taken", place=-1, axes=(0, 1)),
            "the broadcast is not undone: only the last of axes 0 and 1 is taken, where they should be summed",
        ),
        (fact("averaged_over", axes=(0, 1, 2)), "it is averaged over axes 0, 1 and 2, where it should not be"),
        (fact("is_transpose", ndim=2), "it is the transpose of what is right"),
        (fact("is_transpose", ndim=3), "it is the transpose of what is right in its last two axes"),
        (fact("axes_permuted", order=(2, 0, 1)), "the axes are permuted: it is what is right with permute(2, 0, 1)"),
        (fact("back_to_front", axis=None), "it is back to front"),
        (fact("back_to_front", axis=1), "it is back to front along axis 1"),
        (
            fact("one_place_off", step=-1, axis=2, zeros=True),
            "off by one: it is what is right, one place back along axis 2, with zeros following",
        ),
        (
            fact("one_place_off", step=1, axis=None, zeros=False),
            "off by one: it is what is right, one place further",
        ),
        (
            fact("only_shape_wrong", got=(4, 6), want=()),
            "the numbers are right, the shape is not: [4, 6] for []",
        ),
    ],
)
def test_numbers_in_other_places(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("gradient_of_other_tensor", got=1, want=0),
            "this is the gradient of the op's second tensor, in place of that of its first",
        ),
        (
            fact("arguments_swapped", one=2, other=0, gradients=True),
            "the arguments are swapped: this is what comes of third and first exchanged, and the two gradients too",
        ),
        (fact("index_off_by_one", argument=1, step=-1), "off by one: the index in argument 2 is one too small"),
        (
            fact("no_centring_term", op="var"),
            "var without its centring term: x, where x - x.mean() belongs",
        ),
        (fact("off_by_factor", factor="1/pi"), "off by the constant factor 1/pi"),
        (fact("off_by_factor", factor=1.23456789), "off by the constant factor 1.234568"),
        (fact("off_by_factor", factor=1 + 1e-8), "off by the constant factor 1 + 1e-08"),
        (fact("off_by_factor", factor=1 - 2.5e-9), "off by the constant factor 1 - 2.5e-09"),
        (fact("off_by_factor", factor=2 + 1j), "off by the constant factor 2+1j"),
        (
            fact("off_by_count", factor="1/24", n=24, count=fact("elements_of", of_result=True)),
            "off by the constant factor 1/24, where 24 is the number of elements of the result",
        ),
        (
            fact("off_by_count", factor="-5", n=5, count=fact("elements_but_for_axis", axis=1, of_result=False)),
            "off by the constant factor -5, where 5 is the number of elements but for axis 1",
        ),
        (fact("rounded_to_integers", how="floor", dtype=""), "it is rounded down to integers"),
        (fact("rounded_to_integers", how="trunc", dtype="int64"), "it is cut off to integers (its dtype is int64)"),
        (
            fact("computed_in_dtype", dtype="float32", exact=True),
            "computed in float32: the error is that of float32, and every element is a number of float32",
        ),
        (
            fact("nan_appears", is_nan=True, index=(0, 1)),
            "NaN appears here at [0, 1], and in no gradient that it depends on",
        ),
        (
            fact("nan_of_rule", is_nan=False, op="log", index=(), argument=0.0),
            "infinity is born in the gradient of log, where its argument is 0",
        ),
    ],
)
def test_mistakes_of_a_rule(found: Fact, sentence: str) -> None:
    assert say(found) == sentence
