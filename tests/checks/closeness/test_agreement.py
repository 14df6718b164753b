"""Who stands alone, in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.closeness.agreement import Allowance, Answer, who_is_wrong
from gradcheck.reports.phrases import say

ALLOWANCE = Allowance(np.array([1e-10, 1e-10]), 1e-10)


def says(name: str, *answer: float, bar: float = 0.0, oracle: bool = False) -> Answer:
    return Answer(name, np.array(answer), np.full(len(answer), bar), oracle)


STEP = "complex step"


@pytest.mark.parametrize(
    ("got", "want", "others", "verdict"),
    [
        (says("core", 1, 2), says("torch", 1, 3), [says(STEP, 1, 3, oracle=True)],
         "core is wrong: torch and complex step agree exactly"),
        (says("core", 1, 3), says("torch", 1, 2), [says(STEP, 1, 3, oracle=True)],
         "torch and core differ, complex step sides with core exactly"),
        (says("the formula", 1, 2), says("torch", 1, 3), [says("core", 1, 3), says("exact", 1, 3, oracle=True)],
         "the formula is wrong: torch, core and exact agree exactly"),
        (says("core", 1, 2), says("torch", 1, 3), [says("the file", 1, 2)],
         "torch is wrong: core and the file agree exactly"),
        (says("core", 1, 2), says("torch", 1, 3), [says("the file", 1, 3)],
         "core is wrong: torch and the file agree exactly"),
        (says("core", 1, 2), says("torch", 1, 3), [says("differences", 1, 7, oracle=True)],
         "core, torch and differences all differ"),
        (says("core", 1, 2), says("torch", 1, 3), [says("differences", 1, 2.5, bar=1.0, oracle=True)],
         "core and torch differ, and differences cannot tell: its error bar is 1"),
        (says("core", 1, 2), says("torch", 1, 3), [says("differences", 1, np.nan, bar=np.inf, oracle=True)],
         "core and torch differ, and differences cannot tell: it does not converge there"),
        (says("core", 1, 2), says("the file", 1, np.nan), [says("differences", 1, np.nan, bar=np.inf, oracle=True)],
         "core and the file differ, and differences cannot tell: it does not converge there"),
        (says("core", 1, 2), says("torch", 1, 3), [says("the file", 1, 2), says("ours", 1, 3), says("x", 1, 3)],
         "core and the file stand against torch, ours and x"),
        (says("core", 1, 2), says("torch", 1, 3), [says("the file", 1, 2), says("ours", 1, 3),
                                                   says(STEP, 1, 2, oracle=True)],
         "torch and ours are wrong together: core, the file and complex step agree exactly"),
        (says("core", 1, 2), says("torch", 1, 3), [], ""),
    ],
)  # fmt: skip
def test_who_is_wrong(got: Answer, want: Answer, others: list[Answer], verdict: str) -> None:
    assert say(who_is_wrong(got, want, others, ALLOWANCE)) == verdict


def test_how_closely_they_agree_is_said() -> None:
    verdict = say(
        who_is_wrong(says("core", 1, 2), says("torch", 1, 3), [says(STEP, 1, 3 * (1 + 3e-15), oracle=True)], ALLOWANCE)
    )
    assert verdict == "core is wrong: torch and complex step agree to 3e-15"


def test_zeros_on_one_side_leave_room_on_the_other() -> None:
    """Where torch has zeros alone its scale is 0, and core still agrees with the oracle to rounding."""
    none = Allowance(np.zeros(1), 1e-10)
    verdict = say(
        who_is_wrong(says("core", -1.0), says("torch", 0.0), [says(STEP, -1 + 1e-14, bar=1e-15, oracle=True)], none)
    )
    assert verdict.startswith("torch and core differ, complex step sides with core")


def test_a_bar_of_underflow_is_no_doubt() -> None:
    exact = Allowance(np.zeros(2))
    zero = says(STEP, 0, 0, bar=1e-270, oracle=True)
    found = who_is_wrong(says("core", 1, 2), says("torch", 1, 3), [zero], exact)
    assert found is not None
    assert say(found) == "core, torch and complex step all differ"
