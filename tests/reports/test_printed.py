"""What `print` shows of results."""

from __future__ import annotations

import pytest

from gradcheck import run
from gradcheck.checks.derivation import explain
from gradcheck.reports.printed import text_of
from tests.from_text import case_of

RIGHT, WRONG = (
    case_of(f"name: {name}\ninputs: {{x: [1.0, 2]}}\ngraph: {{y: (x * x).sum()}}\nformulas: {{x: {formula}}}\n")
    for name, formula in (("right", "2 * x"), ("slip", "3 * x"))
)


def test_a_run_is_its_report_and_a_failure_its_part_of_it() -> None:
    result = run([RIGHT, WRONG])
    (failure,) = result.failures
    assert failure.name == "slip"
    for shown in (str(result), str(failure), failure.text()):
        assert "the formula of x is wrong" in shown
        assert "did you mean  2 * x ?" in " ".join(shown.split()) or "did you mean 2" in shown
        assert "\x1b" not in shown
    assert "1 failed, 1 passed" in str(result)
    assert "right" not in str(failure).split()
    assert "slip" in failure.html()


def test_others_are_what_their_command_prints() -> None:
    assert "x (2,) = 2 * x" in str(explain(RIGHT)).replace("(2)", "(2,)")
    with pytest.raises(TypeError, match="a int has no text"):
        text_of(3)
