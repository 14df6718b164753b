"""Cases one after another in this process."""

from __future__ import annotations

from gradcheck.checks.in_turn import checker, in_turn, ready
from gradcheck.checks.options import Options, engines_of
from gradcheck.errors import InvalidCase, Place
from tests.from_text import case_of

CASE = case_of("inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 2 * x}")


def test_cases_and_files_that_cannot_be_read_have_results_in_turn() -> None:
    options = Options()
    work = [[InvalidCase("no case", place=Place("a.yaml", 1, 1))], CASE]
    found = list(in_turn(work, options, engines_of(options)))
    assert [one.status for one in found] == ["invalid", "passed"]


def test_what_is_asked_for_besides_is_added() -> None:
    options = Options(power=True)
    engines = engines_of(options)
    with ready(options, engines):
        assert checker(options, engines)(CASE).power is not None
