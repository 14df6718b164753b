"""What comparisons of claims came to, what befell a case, what oracles found, word by word."""

from __future__ import annotations

from typing import get_args

import pytest

from gradcheck.checks.isolation.failure_capture import Part
from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say

INFINITY = float("inf")
RAISED, NOTHING = fact("raised", error="shape_mismatch", text="2 and 3"), fact("raised_nothing")
DIFFER = fact("outcomes_differ", got="core", got_outcome=RAISED, want="torch", want_outcome=NOTHING)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("gradient_missing"), "no gradient arrived, one was expected"),
        (fact("none_agrees_with_zeros", none="got"), "none agrees with all zeros (none is this side's)"),
        (fact("none_agrees_with_zeros", none="want"), "none agrees with all zeros (none is the reference's)"),
        (fact("shapes_differ", got=(2, 3), want=()), "shape [2, 3], expected []"),
        (fact("dtypes_differ", got="float32", want="float64"), "dtype float32, expected float64"),
        (fact("nans_agree", count=1), "1 NaN agrees"),
        (fact("nans_agree", count=2), "2 NaNs agree"),
        (fact("infinities_agree", count=1), "1 infinite element agrees"),
        (fact("infinities_agree", count=3), "3 infinite elements agree"),
    ],
)
def test_how_arrays_differ_or_agree(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("within_rounding", beyond=1.234e-9),
            "beyond the base tolerance by 1.2e-09, within the rounding noise of this graph at this point",
        ),
        (
            fact("reference_rounds_more", engine="core", reference="torch", off=1.5e-3),
            "torch is off by 0.0015 against itself in double precision, beyond rounding noise; core is not",
        ),
        (
            fact("right_in_double_precision", dtype="float16"),
            "right in double precision; in float16 its steps overflow, or lose their digits",
        ),
        (
            fact("off_by_rounding", who="torch", by=5e-9),
            "off by 5e-09 by rounding alone, and proved: torch rounds so much",
        ),
        (
            fact("off_by_rounding", who="", by=5e-9),
            "off by 5e-09 by rounding alone, and proved: the formula rounds so much",
        ),
        (
            fact("too_ill_conditioned", extent=3.21),
            "too ill-conditioned to be decided: rounding alone may move it by 3.2 at this point",
        ),
        (
            fact("too_ill_conditioned", extent=INFINITY),
            "too ill-conditioned to be decided: rounding alone may move it anywhere at this point",
        ),
    ],
)
def test_what_rounding_explains(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (DIFFER, "core raises shape_mismatch (2 and 3), and torch raises nothing"),
        (
            fact("op_alone", op="add", what=DIFFER),
            "add alone: core raises shape_mismatch (2 and 3), and torch raises nothing",
        ),
        (
            fact("not_as_asked", engine="core", came=RAISED, step=2, asked=None),
            "core raises shape_mismatch (2 and 3); step 2 should raise nothing",
        ),
        (
            fact("not_as_asked", engine="core", came=NOTHING, step=1, asked="backward_twice"),
            "core raises nothing; step 1 should raise backward_twice",
        ),
        (
            fact("ran_fewer_steps", got="mine", want="torch", steps=3, ran=(1, 3)),
            "mine ran 1 of 3 steps and torch 3, without an error",
        ),
        (
            fact("gradients_missing", op="matmul", engine="mine", got=1, want=2),
            "matmul alone: mine gives 1 gradients, expected 2",
        ),
        (
            fact("gradient_of_op", op="mul", number=2, mismatch=None, ones=False),
            "the gradient of mul's tensor 2, for a random incoming gradient",
        ),
        (
            fact("gradient_of_op", op="mul", number=2, mismatch=None, ones=True),
            "the gradient of mul's tensor 2, for an incoming gradient of ones",
        ),
        (
            fact("gradient_of_op", op="mul", number=2, mismatch=fact("gradient_missing"), ones=False),
            "the gradient of mul's tensor 2, for a random incoming gradient: no gradient arrived, one was expected",
        ),
    ],
)
def test_what_engines_and_their_ops_do(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("claim_raised", error="shape_mismatch", text="2 and 3"), "2 and 3"),
        (fact("refuted", how=fact("elements_differ", mismatched=2, elements=6)), "refuted: 2 of 6 elements differ"),
        (fact("not_refuted", points=1), "should be refuted, but holds at 1 point"),
        (fact("not_refuted", points=4), "should be refuted, but holds at 4 points"),
        (
            fact("no_trial", trial=1, attempts=20, why=fact("all_is_nan")),
            "trial 1 could not be verified in 20 draws: every element of a formula is NaN",
        ),
    ],
)
def test_what_cases_claim(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("in_engines", what=fact("not_raised", step=2, asked="index_out_of_range"), engines=("torch", "core")),
            "step 2 should raise index_out_of_range, and did not [torch, core]",
        ),
        (fact("step_raised", step=1, error="nan", asked=None, text="boom"), "step 1 raised nan: boom"),
        (fact("step_raised", step=1, error="nan", asked="inf", text="boom"), "step 1 raised nan, not inf: boom"),
        (
            fact("step_not_run", step=2, entry="y"),
            "step 2 was not run: y could not be evaluated in the first place",
        ),
    ],
)
def test_errors_of_a_case(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("refuted_by_proof", sizes=()),
            "holds at these numbers, but not for all values: the exact oracle refutes it",
        ),
        (
            fact("refuted_by_proof", sizes=(("n", 3), ("m", 4))),
            "holds at these numbers, but not for all values (at n = 3, m = 4): the exact oracle refutes it",
        ),
        (
            fact("beyond_rounding", part=1.04e-11, times=4012.3),
            "near, but not equal: off by 1e-11 of its size, 4012 times what rounding explains",
        ),
        (
            fact("method_cannot_tell", method="differences", error=0.0123),
            "differences cannot tell: the error bar is 0.01",
        ),
        (fact("any_subgradient", low=-1.0, high=1.0), "no derivative there; any of [-1, 1] is a subgradient"),
        (
            fact("differences_cannot_confirm", error=0.25),
            "differences cannot confirm it: their error bar is 0.2",
        ),
    ],
)
def test_what_oracles_find(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


def test_what_ended_a_case() -> None:
    assert say(fact("ran_out_of_time", seconds=5.0)) == "ran out of time after 5 seconds"
    told = fact("ran_out_of_time_inside", seconds=5.0, inside="its tanh")
    assert say(told) == "ran out of time after 5 seconds: its tanh had not returned"
    assert say(fact("ran_out_of_memory", text="2 GiB")) == "ran out of memory: 2 GiB"
    assert say(fact("crashed", error="ValueError", text="boom")) == "ValueError: boom"
    assert say(fact("crashed", error="ValueError", text="")) == "ValueError"


SAID = {
    fact("exact_dtype", dtype="complex128"): "complex128 is no field of real numbers",
    fact("exact_steps"): "its steps are more than backward passes",
    fact("exact_error", message="sort: {x} is no operation"): "sort: {x} is no operation",
    fact("exact_uninterpreted", functions=("exp", "sqrt")): "it differs where exp, sqrt may take any value",
    fact("exact_degree", degree=123456, points=10): "its degree is 123,456, too large for 10 points",
    fact("exact_core_gradient", tensor="h"): "the core's own gradient of h is not proved",
    fact("no_complex_step", message="abs is not analytic"): "abs is not analytic",
}


@pytest.mark.parametrize("found", SAID, ids=lambda found: found.kind)
def test_what_the_exact_oracle_finds(found: Fact) -> None:
    assert say(found) == SAID[found]


@pytest.mark.parametrize("part", get_args(Part))
def test_each_part_that_may_fail_has_words(part: Part) -> None:
    why = fact("crashed", error="KeyError", text="'x'")
    assert say(fact("not_found_out", part=part, why=why)).endswith(": KeyError: 'x'")
