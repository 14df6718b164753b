"""What is known of values before a run: just what the run would say of them."""

from __future__ import annotations

import pytest

from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.scheduling.sequential import check_isolated
from gradcheck.language.crash import Crash
from gradcheck.language.loader import load
from gradcheck.language.value_precheck import find_value_errors
from tests.from_text import case_of
from tests.paths import ROOT

BODY = "graph: {y: x * 2, z: y.sum()}"
WRONG = [
    "inputs: {x: 'zeros(1e-300)'}",
    "inputs: {x: float32}",
    "inputs: {x: '1j * randn(3)'}",
    "inputs: {x: 'randn(3) @ randn(4)'}",
    "inputs: {x: 'randn(20000)', u: 'outer(x, x)'}",
    "inputs: {x: 'randn(3)'}\nconstants: {c: 'max(x, dim=0)'}",
    "inputs: {x: 'randn(3)'}\nexpected: {x: 'ones(2.5)'}",
    "inputs: {x: 'randn(3)'}\nvalues: {z: 'inv(zeros(2, 2))'}",
    "inputs: {x: 'randn(3)'}\nbackward: {z: 'ones(3) @ ones(4)'}",
    "inputs: {x: 'randn(3)'}\nsteps: [{forward: {x: 'reshape(x, 2, 2)'}}, {backward: z}]",
]
RIGHT = [
    "inputs: {x: 'randn(3)'}",
    "inputs: {x: 'randn(600, 600)', u: 'x @ x', w: 'u[0]'}",  # which is more than is looked at
    "inputs: {x: 'randn(3)'}\nbackward: {y: 'ones_like(y)'}",
    "inputs: {x: 'randn(3)'}\nexpected: {x: '2 * ones_like(x)'}\nvalues: {y: 2 * x}",
    "inputs: {x: 'randn(3)'}\nsteps: [{forward: {x: '2 * x'}}, {backward: {y: 'randn(3)'}}]",
]


@pytest.mark.parametrize("text", [*WRONG, *RIGHT])
def test_it_is_what_a_run_says(text: str) -> None:
    case = case_of(f"{text}\n{BODY}\n")
    chosen = Options()
    found = check_isolated(case, chosen, engines_of(chosen))
    before = find_value_errors(case)
    assert (found.status == "invalid") == bool(before) == (text in WRONG)
    if before:
        told = {(error.message["text"], error.hint, error.place) for error in found.errors}
        assert told == {(error.message, error.hint, error.place) for error in before[:1]}


def test_all_that_is_wrong_is_told_and_what_stands_on_it_is_not() -> None:
    text = "inputs: {x: 'zeros(-1)', u: x * 2, v: 'zeros(0.5)'}\ngraph: {y: v * 2}\nexpected: {v: 'ones(1.5)'}"
    messages = [error.message for error in find_value_errors(case_of(text))]
    assert len(messages) == 3
    assert "1.5" in messages[2]


def test_nothing_large_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def draws(*_: object) -> None:
        raise AssertionError("it is made")

    case = case_of("inputs: {x: 'randn(10000, 10000)'}\ngraph: {y: x.sum()}")
    monkeypatch.setattr("gradcheck.language.random_streams.NumPy.call", draws)
    monkeypatch.setattr("gradcheck.language.random_streams.RandomHost.call", draws)
    assert find_value_errors(case) == []


def test_the_shipped_cases_are_fine() -> None:
    assert [error for case in load([ROOT / "cases"]).cases for error in find_value_errors(case)] == []


def test_what_is_plainly_drawn_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless something else is made of it, or its sizes may be none."""

    def draws(*_: object) -> None:
        raise AssertionError("it is drawn")

    assert all(find_value_errors(case_of(f"inputs: {{x: 'randn({size})'}}\n{BODY}")) for size in ("-1", "1.5"))
    monkeypatch.setattr("gradcheck.language.random_streams.RandomHost.call", draws)
    case = case_of("dims: {n: 2}\ninputs: {x: 'randn(n, 3)', w: 'rand(4)'}\ngraph: {y: x.sum()}")
    assert find_value_errors(case) == []
    (error,) = find_value_errors(case_of(f"inputs: {{x: 'randn(3)', u: 'x * 2'}}\n{BODY}"))
    assert "AssertionError: it is drawn" in error.message


def test_a_crash_is_an_error_of_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashes(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("gradcheck.language.value_precheck.Sampler", crashes)
    (error,) = find_value_errors(case_of(f"inputs: {{x: 'randn(3) * 2'}}\n{BODY}"))
    assert isinstance(error, Crash)
    assert error.place.line == 1
    assert "gradcheck crashed while looking at the values of this case: RecursionError: too deep" in error.message
