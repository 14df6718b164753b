"""A case from beginning to end: its stages, and what makes of their comparisons a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gradcheck.checks.options import QUICK, Options, engines_of
from gradcheck.checks.pipeline import STAGES, check_case, examine
from gradcheck.checks.result import CaseResult
from gradcheck.engines.core import Core
from gradcheck.errors import InvalidCase
from gradcheck.language.claim_kind import ClaimKind
from tests.from_text import case_of

SQUARE = "inputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n"


def checked(text: str, **options: object) -> CaseResult:
    chosen = Options(**options)  # type: ignore[arg-type]
    return check_case(case_of(text), chosen, engines_of(chosen))


def test_seconds_are_known_by_stage() -> None:
    found = checked(SQUARE + "formulas: {x: 3 * x}\n").stage_seconds
    assert {"evaluations", "operations", "formulas", "explanation"} <= set(found)
    assert all(seconds >= 0 for seconds in found.values())
    assert "explanation" not in checked(SQUARE).stage_seconds


def test_every_stage_can_be_asked_whether_it_applies_and_what_it_finds() -> None:
    assert len(set(map(id, STAGES))) == len(STAGES)
    assert all(callable(stage.applies) and callable(stage.check) for stage in STAGES)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("", "passed"),
        ("formulas: {x: 2 * x}", "passed"),
        ("formulas: {x: 3 * x}", "failed"),
        ("wrong_formulas: {x: 3 * x}", "passed"),
        ("expected: {x: [2, 5]}", "failed"),
        ("skip: not now", "skipped"),
        ("only: [nobody]", "skipped"),
        ("only: [mygrad, mycore, mine.core]", "skipped"),
        ("xfail: known\nexpected: {x: [2, 5]}", "xfailed"),
        ("xfail: known", "xpassed"),
        ("xfail: known\nsteps: [{backward: {y: 'inv(zeros(2, 2)) + y'}}]", "xfailed"),
    ],
)
def test_verdicts(more: str, status: str) -> None:
    assert checked(SQUARE + more).status == status


def test_a_misspelt_engine_in_only_is_an_error_and_no_skip() -> None:
    for name, meant in (("coer", "core"), ("Core", "core"), ("trch", "torch"), ("mygrda", "mygrad")):
        with pytest.raises(InvalidCase, match=rf"case.yaml:3:1: there is no engine '{name}'; did you mean '{meant}'\?"):
            checked(SQUARE + f"only: [core, {name}]")
    own = Core()
    own.name = "coer"
    assert checked(SQUARE + "only: [coer]", engines=("core", own)).status == "passed"


def test_stages_come_in_order_and_see_what_was_found_before() -> None:
    options = Options()
    context = examine(case_of(SQUARE + "formulas: {x: 2 * x}\nchecks: [loss > 0]"), options, engines_of(options))
    kinds = list(dict.fromkeys(c.what for c in context.found))
    assert kinds == [ClaimKind.VALUE, ClaimKind.GRADIENT, ClaimKind.NODE, ClaimKind.CHECK, ClaimKind.FORMULA]
    (own,) = [c for c in context.found if c.what is ClaimKind.FORMULA and c.trial is None]
    assert own.certificate is not None  # the certificates' stage amends what the formulas' stage found


def test_a_case_without_a_gradient_compared_is_no_pass() -> None:
    case = case_of("inputs: {x: [1]}\ngraph: {y: x * x}\nsteps: [{zero_grad: all}]")
    options = Options()
    result = check_case(replace(case), options, engines_of(options))
    assert result.status in ("failed", "passed")
    assert any(c.what is ClaimKind.GRADIENT for c in result.comparisons) or result.status == "failed"


def test_failures_are_looked_into_only_where_the_run_explains() -> None:
    explained = checked(SQUARE + "formulas: {x: 3 * x}")
    bare = checked(SQUARE + "formulas: {x: 3 * x}", explained=False)
    assert any(c.diagnoses for c in explained.comparisons)
    assert any(c.verdict for c in explained.comparisons)
    assert not any(c.diagnoses or c.verdict for c in bare.comparisons)
    assert bare.status == explained.status == "failed"


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {x: 'randn(2, 3)', w: 'randn(2, 4)'}\ngraph: {z: x @ w}\nbackward: {z: 'ones_like(z)'}",
        "inputs: {x: 'zeros(2, 2)'}\ngraph: {y: inv(x), z: y * 2}\nbackward: {z: 'randn_like(z)'}",
        "dtype: complex128\ninputs: {x: 'randn(3)'}\ngraph: {y: amax(x), z: y * 2}\nbackward: {z: z * 2}",
        "inputs: {x: randn(4)}\ngraph: {y: 'reshape(x, 3, 2)'}\nsteps: [{backward: {y: [1]}}, {backward: {y: y}}]",
    ],
)
def test_an_incoming_gradient_of_a_graph_without_values_is_no_crash(run_text: Any, text: str) -> None:
    (case,) = run_text(text, shrink=QUICK).cases
    assert case.status == "failed"
    assert [error.message.kind for error in case.errors] == ["refused"]
    assert not case.incomplete
