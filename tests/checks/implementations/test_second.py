"""Second order of code."""

from __future__ import annotations

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.run import run
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code


def test_a_second_order_that_is_lost_is_a_failure() -> None:
    (found,) = run(with_code(TANH, functions.SecondOrderLost.apply), allow_code=True).cases
    wrong = [c for c in found.comparisons if c.status == "failed"]
    assert {c.what for c in wrong} == {ClaimKind.GRADIENT2}


def test_one_that_is_not_offered_is_none() -> None:
    (found,) = run(with_code(TANH, functions.OnlyOnce.apply), allow_code=True).cases
    assert found.status == "passed"
    assert not any(c.what is ClaimKind.GRADIENT2 for c in found.comparisons)


def test_what_comes_in_is_differentiated_too() -> None:
    (found,) = run(with_code(TANH, functions.Tanh.apply), allow_code=True).cases
    second = {c.tensor for c in found.comparisons if c.what is ClaimKind.GRADIENT2}
    assert second == {"x", "incoming_gradient"}
