"""Where a formula is seen to fail, what may have been meant, why there is none, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say


def shown(**changed: object) -> Fact:
    data = {"tensor": "x", "given": (), "incoming": (), "sizes": (), "index": (), "claimed": 4.0, "true": 1 / 3}
    return fact("counterexample", **{**data, **changed})


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (shown(), "counterexample: the formula is 4, the gradient 0.333333"),
        (
            shown(given=(("x", (1.0,) * 20), ("y", (1.0, 2.5))), index=(3,)),
            "counterexample: for x of 20 small integers, y = [1, 2.5] the formula is 4 at [3], the gradient 0.333333",
        ),
        (
            shown(given=(("x", ((1.0,) * 5,) * 4), ("k", 3)), incoming=(("y", -2.0),), index=(0, 1)),
            "counterexample: for x of 4×5 small integers, k = 3, incoming gradient of y = -2 the formula is 4 at "
            "[0, 1], the gradient 0.333333",
        ),
        (
            shown(sizes=(("n", 2),), index=None, claimed=(2, 3), true=()),
            "counterexample: for n = 2 the formula has shape [2, 3], x []",
        ),
        (fact("did_you_mean", formula="{x}.T"), "did you mean  {x}.T ?"),
        (
            fact("none_found_near", formula="2 * x"),
            "no small change mends it; the derived gradient is  2 * x",
        ),
        (fact("not_searched_further", formula="2 * x"), "not searched further; the derived gradient is  2 * x"),
        (fact("fails_at_ties", formula=""), "it fails only where numbers tie, or at a kink"),
    ],
)
def test_corrections(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("forward_raises", error="2 and 3"), "the forward pass raises: 2 and 3"),
        (fact("no_pass_completed"), "no backward pass is completed"),
        (fact("pass_not_run"), "the backward pass alone cannot be run"),
        (
            fact("formula_too_long", parts=20001),
            "a formula has 20,001 parts; give parts of the graph names of their own",
        ),
        (
            fact("derived_does_not_hold", tensor="x"),
            "the derived gradient of x does not hold when it is read back",
        ),
        (fact("derived_is_refuted", tensor="x"), "the exact oracle refutes the derived gradient of x"),
        (fact("equals_derived"), "equals the derived formula; not independent evidence"),
    ],
)
def test_why_there_is_no_derived_formula(found: Fact, sentence: str) -> None:
    assert say(found) == sentence
