"""Mistakes of the backward pass, each from what it would give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import accumulation_mistakes
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Predict, Use, contribution_origin, matches
from gradcheck.facts import Fact, fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule

A, B, C = np.array([1.0, 2.0]), np.array([-3.0, 0.5]), np.array([0.25, 4.0])
D, E, F = (Use("mul", "d", 0, A), Use("exp", "e", 0, B), Use("add", "f", 0, C))
AT_D, AT_E = contribution_origin("mul", "d"), contribution_origin("exp", "e")
PATH, OTHER = fact("path", entry="d"), fact("path", entry="e")


def of(got: Any, *uses: Use, **known: Any) -> Evidence:
    return Evidence(got, np.sum([use.share for use in uses], axis=0), uses=uses, **known)


@pytest.mark.parametrize(
    ("predict", "evidence", "expected"),
    [
        (accumulation_mistakes.single_use_kept, of(B, D, E), {1: fact("only_use_arrived", uses=2, use=AT_E)}),
        (accumulation_mistakes.single_use_kept, of(A, D), {}),
        (accumulation_mistakes.dropped, of(A, D, E), {1: fact("use_not_arrived", uses=2, use=AT_E)}),
        (
            accumulation_mistakes.dropped,
            of(A + C, D, E, F, Use("sin", "g", 0, 2 * B)),
            {(1, 3): fact("two_uses_not_arrived", uses=4, one=AT_E, other=contribution_origin("sin", "g"))},
        ),
        (accumulation_mistakes.counted_twice, of(2 * A + B, D, E), {0: fact("use_counted_twice", use=AT_D)}),
        (accumulation_mistakes.counted_twice, of(2 * (A + B), D, E), {"all": fact("uses_counted_twice", uses=2)}),
        (accumulation_mistakes.counted_twice, of(2 * A, D), {"all": fact("uses_counted_twice", uses=1)}),
    ],
)
def test_uses(predict: Predict, evidence: Evidence, expected: dict[Any, Fact]) -> None:
    assert fitting(predict, evidence) == expected


def test_what_was_passed_on_too_early_is_told_of_each_use() -> None:
    when, again = fact("passed_on_when", name="d", reported=(AT_E,)), fact("passed_on_each_time", name="e", first=AT_D)
    uses = (Use("mul", "d", 0, A, ((when, C),)), Use("exp", "e", 0, B, ((again, 2 * B),)))
    assert fitting(accumulation_mistakes.passed_on_early, of(C + B, *uses)) == {
        (when,): fact("passed_on_too_early", parts=(when,))
    }
    both = fact("passed_on_too_early", parts=(when, again))
    assert fitting(accumulation_mistakes.passed_on_early, of(C + 2 * B, *uses)) == {(when, again): both}
    assert guessed(accumulation_mistakes.passed_on_early, of(A, D, E)) == []


def test_arrays_that_are_shared() -> None:
    known = {"others": {"y": B, "z": A}, "engine_gradients": {"y": 5 * C, "z": 5 * C}}
    found = fitting(accumulation_mistakes.shared_array, Evidence(5 * C, A, **known))
    assert found == {"y": fact("mutated_shared", tensor="y")}  # z's gradient should be the same
    root = Evidence(2 * A, A, uses=(D,), is_root=True)
    assert fitting(accumulation_mistakes.root_changed, root) == {"root": fact("mutated_incoming")}
    assert fitting(accumulation_mistakes.root_changed, Evidence(2 * A, A, uses=(D,))) == {}


def test_what_an_earlier_pass_left() -> None:
    assert fitting(accumulation_mistakes.stale, Evidence(B, 0 * A, earlier=B)) == {"kept": fact("stale_kept")}
    assert fitting(accumulation_mistakes.stale, Evidence(A + B, A, earlier=B)) == {"again": fact("stale_again")}
    assert fitting(accumulation_mistakes.stale, Evidence(B, A, earlier=B)) == {"unchanged": fact("stale_unchanged")}
    assert guessed(accumulation_mistakes.stale, Evidence(B, A, earlier=0 * B)) == []
    assert fitting(accumulation_mistakes.later_pass, Evidence(A - B, A, earlier=B)) == {
        "passes": fact("overwritten_by_pass")
    }


def test_gradients_of_other_tensors() -> None:
    known: dict[str, Any] = {"others": {"y": B, "zeros": 0 * A, "long": np.ones(3)}}
    assert fitting(accumulation_mistakes.mixed_up, Evidence(B, A, **known)) == {
        ("y", "instead"): fact("gradient_of_another", tensor="y")
    }
    assert fitting(accumulation_mistakes.mixed_up, Evidence(A + B, A, **known)) == {
        ("y", "too"): fact("gradient_of_another_added", tensor="y")
    }


@pytest.mark.parametrize(
    ("got", "key", "kind"),
    [
        (B, PATH, "path_not_there"),
        (2 * A + B, (PATH, "twice"), "path_counted_twice"),
        (B - A, (PATH, "sign"), "path_sign"),
    ],
)
def test_paths(got: np.ndarray, key: Any, kind: str) -> None:
    evidence = Evidence(got, A + B, without_path={PATH: B})
    assert fitting(accumulation_mistakes.path_dropped, evidence) == {key: fact(kind, path=PATH)}


def test_that_a_path_is_not_there_comes_before_other_signs() -> None:
    """Of two equal uses, one with the other sign gives what none of them gives."""
    evidence = Evidence(A, A + 2 * B, without_path={PATH: A + B, OTHER: A})
    kinds = [g.fact.kind for g in accumulation_mistakes.path_dropped(evidence) if matches(g.predicted, evidence)]
    assert kinds == ["path_not_there", "path_sign"]


def test_one_path_taken_for_another() -> None:
    evidence = Evidence(2 * A, A + B, without_path={PATH: B, OTHER: A})
    found = fitting(accumulation_mistakes.path_dropped, evidence)
    assert found == {(PATH, OTHER): fact("path_for_another", got=PATH, want=OTHER)}


def test_a_path_alone_is_told_only_of_several() -> None:
    three = {PATH: B + C, OTHER: A + C, fact("path", entry="f"): A + B}
    found = fitting(accumulation_mistakes.path_dropped, Evidence(A, A + B + C, without_path=three))
    assert found == {(PATH, "only"): fact("path_alone_there", path=PATH)}
    two = guessed(accumulation_mistakes.path_dropped, Evidence(A, A + B, without_path={PATH: B, OTHER: A}))
    assert (PATH, "only") not in two


def test_nothing_arrives() -> None:
    (key,), none = guessed(accumulation_mistakes.detached, Evidence(None, A)), Evidence(None, A)
    assert fitting(accumulation_mistakes.detached, none) == {key: fact("nothing_arrives")}
    assert guessed(accumulation_mistakes.detached, Evidence(B, A)) == []
    assert guessed(accumulation_mistakes.detached, Evidence(None, 0 * A)) == []
    one = of_rule(rule("{inputs: {x: 'randn(3)'}, graph: {out: exp(x)}, backward: {out: 'randn(3)'}}"))
    assert fitting(accumulation_mistakes.detached, one) == {"detached": fact("nothing_passed_on", op="exp")}


def test_zeros_that_arrive_are_likely_and_no_proof() -> None:
    (guess,) = accumulation_mistakes.detached(Evidence(0 * A, A))
    assert not guess.is_proof


def test_nan_is_no_gradient_of_another_tensor() -> None:
    nan, one = np.full(1, np.nan), np.ones(1)
    assert not list(accumulation_mistakes.mixed_up(Evidence(nan, one, others={"x": nan})))
    assert list(accumulation_mistakes.mixed_up(Evidence(nan, one, others={"x": one})))
