"""`xfail`: what fails as it says, elsewhere, no longer, or after its date."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from gradcheck.checks.options import Options
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.implementation.code_error import CodeError
from gradcheck.engines.tensor_class.user_code_guard import EndlessRecursion, EngineError
from gradcheck.errors import TensorError
from gradcheck.language.case import XFAIL_ERRORS
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader.model import ErrorKind
from gradcheck.reports import FORMATS, Look, render
from tests.engines.implementation.build import with_code
from tests.from_text import case_of

BOTH_WRONG = """\
name: both wrong
inputs: {x: [1, 2], b: [3, 4]}
graph: {y: (x * x * b).sum()}
formulas: {x: 3 * x, b: x}
"""
OF_X = BOTH_WRONG.replace("b: x}", "b: x * x}")
RAISES = "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nsteps: [{backward: y}]\n"
NAN = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nchecks: [x == 2 * x]\n"


@pytest.mark.parametrize(
    ("text", "said", "status", "told"),
    [
        (BOTH_WRONG, "known", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: [x, formula of b]}", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: ['3 * x', x, b]}", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: [formula]}", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: [formula of b]}", "failed", "fails_elsewhere"),
        (OF_X, "{reason: known, only: [x, b]}", "xpassed", "holds_again"),
        (OF_X, "{reason: known, only: [gradient of x]}", "failed", "fails_elsewhere"),
        (BOTH_WRONG, "{reason: known, until: 2027-01-31}", "xfailed", "fails_until"),
        (BOTH_WRONG, "{reason: known, until: 2027-01-30}", "failed", "past_its_date"),
        (RAISES, "{reason: known, only: [non_scalar_backward]}", "xfailed", ""),
        (RAISES, "{reason: known, only: [x]}", "failed", "fails_elsewhere"),
        (NAN, "{reason: known, only: [check]}", "xfailed", ""),
        (NAN, "{reason: known, only: ['x ==  2 * x']}", "xfailed", ""),
        (OF_X.replace("3 * x", "2 * x * b"), "{reason: known, only: [x], until: 2027-12-31}", "xpassed", ""),
    ],
)
def test_it_must_fail_there_and_nowhere_else_until_its_date(text: str, said: str, status: str, told: str) -> None:
    (found,) = run(case_of(f"{text}xfail: {said}\n"), Options(today="2027-01-31", corrected=False)).cases
    facts = {error.message.kind for error in found.errors} | ({found.known.kind} if found.known else set())
    assert (found.status, told in facts or not told) == (status, True)
    assert found.reason == "known"


def test_what_else_fails_is_told_in_every_format_at_the_line_that_says_so() -> None:
    result = run(case_of(f"{BOTH_WRONG}xfail:\n  reason: known\n  only: [b]\n"), corrected=False)
    assert result.exit_code == 1
    for name in FORMATS:
        text = render(result, name, Look(width=200)).replace("%3A", ":")
        assert "fails elsewhere too: formula of x" in text, name
    assert result.cases[0].errors[-1].place.line == 7


def test_every_kind_of_claim_may_be_named() -> None:
    names = ", ".join(kind.replace("_", " ") for kind in ClaimKind)
    assert case_of(f"{BOTH_WRONG}xfail: {{reason: known, only: [{names}]}}\n").xfail is not None


def test_every_error_has_a_name_that_the_language_knows() -> None:
    raised = {one.kind for one in (*TensorError.__subclasses__(), CodeError, EngineError, EndlessRecursion)}
    assert raised - {"unsupported"} <= {*XFAIL_ERRORS, *get_args(ErrorKind)}


def test_a_case_whose_code_raises_may_say_so() -> None:
    def raises(x: Any) -> Any:
        raise ValueError("no")

    case = with_code("inputs: {x: [1.0, 2.0]}\ngraph: {y: tanh(x)}\nxfail: {reason: r, only: [code_raised]}", raises)
    assert [one.status for one in run(case, allow_code=True).cases] == ["xfailed"]
