"""What engines lack, once for all of a run."""

from __future__ import annotations

from gradcheck.checks.lacking import Lacking, lacking, lacks_of
from gradcheck.checks.result import CaseResult, ClaimKind, Comparison, RunResult, Subject


def comparison(engine: str, lacks: str = "") -> Comparison:
    return Comparison(Subject(ClaimKind.RAISES, "x", engine=engine), "unsupported" if lacks else "passed", lacks=lacks)


def case(*comparisons: Comparison) -> CaseResult:
    return CaseResult("", "", "", "unsupported", comparisons=comparisons)


CASES = (
    case(comparison("mine", "softmax"), comparison("yours")),
    case(comparison("mine", "matmul"), comparison("mine", "softmax")),
    case(comparison("mine")),
    case(comparison("yours", "matmul")),
)


def test_each_word_once_those_first_that_stand_in_the_way_of_most() -> None:
    assert lacking(RunResult(CASES, 0.0, {})) == [
        Lacking("mine", ("softmax", "matmul"), unsupported=2, cases=3),
        Lacking("yours", ("matmul",), unsupported=1, cases=2),
    ]


def test_one_case_has_each_word_once() -> None:
    assert lacks_of(case(*[comparison("mine", "softmax")] * 2, comparison("yours"))) == {"mine": ("softmax",)}
