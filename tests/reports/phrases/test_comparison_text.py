"""How a comparison is told, wherever it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import Trial
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases.comparison_text import (
    cause_text,
    consequences,
    counterexamples,
    differing_count_text,
    error_line,
    has_numbers,
    headline,
    log_line,
    numbers_text,
    reasons,
    shape_mismatch_text,
    side_names,
    status_reason,
    subject,
    suggestions,
    tolerance_text,
    trial_text,
    worst_element_text,
)

ONE, TWO = np.ones(3), np.array([1.0, 2.0, 2.0])


def test_every_kind_of_claim_has_a_subject(comparison: Any) -> None:
    told = {kind: subject(comparison(kind, "x", formula="x == y")) for kind in ClaimKind}
    assert told[ClaimKind.NODE] == "gradient rule in x"
    assert told[ClaimKind.CHECK] == "check `x == y`"
    assert told[ClaimKind.RAISES] == "errors raised"
    assert subject(comparison(tensor="x", step=1)) == "gradient of x after step 2"


@pytest.mark.parametrize(
    ("what", "engine", "reference", "names"),
    [
        ("gradient", "core", "torch", ("core", "torch")),
        ("formula", "case", "torch", ("formula", "torch")),
        ("expected", "core", "case", ("core", "expected")),
        ("check", "case", "torch", ("left", "right")),
    ],
)
def test_who_differs_from_whom(comparison: Any, what: str, engine: str, reference: str, names: tuple[str, str]) -> None:
    assert side_names(comparison(what, engine=engine, reference=reference)) == names


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "gradient of y: core differs from torch in 2 of 3 elements"),
        ({"engine": "core and jax"}, "gradient of y: core and jax differ from torch in 2 of 3 elements"),
        (
            {"what": "expected", "reference": "case"},
            "gradient of y: core differs from the one expected in 2 of 3 elements",
        ),
        (
            {"what": "formula", "engine": "case", "formula": "2 * x"},
            "formula for the gradient of y is wrong: it differs from torch's in 2 of 3 elements",
        ),
        (
            {"mismatch": "its shape is wrong", "max_abs": None},
            "gradient of y, core against torch: its shape is wrong",
        ),
        (
            {"what": "node", "mismatch": "mul's tensor 1"},
            "gradient rule in y: mul's tensor 1; core differs from torch in 2 of 3 elements",
        ),
        ({"what": "check", "engine": "case", "formula": "a == b"}, "check `a == b` does not hold in 2 of 3 elements"),
    ],
)
def test_the_headline(failed: Any, fields: dict[str, Any], sentence: str) -> None:
    assert headline(failed(TWO, ONE, **fields)) == sentence


def test_what_is_undecided_says_so_first(failed: Any) -> None:
    assert headline(failed(TWO, ONE, status="undecided")).startswith("undecided: gradient of y")


def test_the_worst_element_and_what_was_allowed(failed: Any) -> None:
    found = failed(TWO, ONE)
    assert worst_element_text(found) == "worst at [1]: core 2, torch 1 (abs 1, rel 1)"
    assert tolerance_text(found) == "allowed: 1e-12 + 1e-10 * |torch|"
    assert tolerance_text(failed(TWO, ONE, atol=0.0, rtol=0.0)) == "allowed: no difference at all"


def test_all_numbers_of_the_worst_element_are_its_own(failed: Any) -> None:
    """The largest errors may be those of other elements."""
    found = replace(failed(TWO, ONE), got=1.0 + 2.0**-50, want=1.0, max_abs=4e3, max_rel=4e4, max_ulp=1e15)
    assert worst_element_text(found).endswith("(abs 8.88e-16, rel 8.88e-16, 4 ULP)")
    assert worst_element_text(replace(found, got=1, want=0, dtype="int64")).endswith("(abs 1, rel inf)")
    assert worst_element_text(replace(found, got=float("nan"), want=1.0)).endswith("(abs inf, rel inf)")


def test_at_which_numbers(comparison: Any) -> None:
    assert trial_text(comparison()) == ""
    assert trial_text(comparison(trial=Trial(2, 7, {"n": 3, "m": 5}))) == "trial 2 of seed 7, where n = 3, m = 5"
    assert trial_text(comparison(trial=Trial(1, 0, {}))) == "trial 1 of seed 0"


def test_reasons_suggestions_and_counterexamples_are_told_apart(comparison: Any, diagnosed: Any) -> None:
    kinds = ("sign", "unknown", "swapped", "did_you_mean", "counterexample")
    found = comparison(diagnoses=tuple(diagnosed(kind, f"it is {kind}") for kind in kinds))
    assert reasons(found) == [("cause", "it is sign"), ("or", "it is swapped")]
    assert suggestions(found) == ["it is did_you_mean"]
    assert counterexamples(found) == ["it is counterexample"]
    unexplained = comparison(diagnoses=(diagnosed("unknown", "no known mistake"),))
    assert reasons(unexplained) == [("cause", "no known mistake")]


def test_one_line_has_the_cause_but_not_that_none_is_known(failed: Any, diagnosed: Any) -> None:
    found = failed(TWO, ONE, cause=("mul at y", "its gradient is wrong"), verdict="core is wrong",
                   diagnoses=(diagnosed("unknown", "no known mistake"),), trial=Trial(1, 0, {}))  # fmt: skip
    assert cause_text(found) == "mul at y: its gradient is wrong"
    assert log_line(found) == (
        "mul at y: its gradient is wrong; core is wrong; worst at [1]: core 2, torch 1 (abs 1, rel 1); "
        "in trial 1 of seed 0"
    )


def test_what_follows_from_a_cause(comparison: Any) -> None:
    wrong = (*(comparison(tensor=name) for name in "xyz"), comparison("value", "h"), comparison("raises", ""))
    lead = comparison("node", "h")
    assert consequences(lead, wrong) == (
        "wrong only because of this: the value of h; the gradient of z, y and x; the error in the case's own pass"
    )
    assert consequences(lead, (comparison("node", "k"),)) == "wrong only because of this: the same rule at k"


def test_errors_and_cases_without_comparisons(error: Any, case: Any) -> None:
    assert error_line(error("crash", "boom\x1b")) == "boom\\x1b"
    assert error_line(error("crash", "boom", hint="mend it")) == "boom; mend it"
    assert status_reason(case(status="xpassed", reason="a bug")) == "passes, though it is marked xfail: a bug"
    assert status_reason(case(status="failed")) == "no gradient was compared"
    assert status_reason(case(status="skipped", reason="later")) == "later"


ONE, TWO = np.ones(3), np.array([1.0, 2.0, 2.0])


def test_how_many_and_where_most(failed: Any) -> None:
    found = failed(ONE, TWO, atol=None)
    assert differing_count_text(found) == "2 of 3 elements differ"
    assert numbers_text(found, False) == "2 of 3 elements differ, at [1] core 1, torch 2; allowed: 1e-10 * |torch|"
    assert numbers_text(found, True) == "2 of 3 elements differ; allowed: 1e-10 * |torch|"


def test_of_a_single_number_there_is_nothing_to_count(failed: Any) -> None:
    found = failed(1.0, 2.0, atol=None)
    assert differing_count_text(found) == ""
    assert numbers_text(found, False) == "core 1, torch 2; allowed: 1e-10 * |torch|"


def test_beside_a_shape_or_an_error_numbers_say_nothing(failed: Any) -> None:
    wrong = replace(failed(ONE, TWO), mismatch=fact("shapes_differ", got=(3,), want=(2,)))
    assert not has_numbers(wrong)
    assert numbers_text(wrong, False) == ""
    alone = fact("gradient_of_op", op="add", number=1, mismatch=wrong.mismatch)
    assert shape_mismatch_text(replace(wrong, mismatch=alone)) == "shape [3], expected [2]"
    assert numbers_text(replace(wrong, mismatch=alone), True).startswith("shape [3], expected [2]; ")
