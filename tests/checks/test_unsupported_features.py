"""What engines could not express, those words first that would let most cases run."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.checks.result import CaseResult, Comparison, RunResult, Subject
from gradcheck.checks.unsupported_features import UnsupportedFeatures, unsupported_by_engine, unsupported_features
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.conftest import Check, TorchWith


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
    assert unsupported_features(RunResult(CASES, 0.0, {})) == [
        UnsupportedFeatures("mine", ("softmax", "matmul"), unsupported=2, cases=3, unlocks={"softmax": 1, "matmul": 0}),
        UnsupportedFeatures("yours", ("matmul",), unsupported=1, cases=2, unlocks={"matmul": 1}),
    ]


def test_what_alone_would_let_most_cases_run_comes_first() -> None:
    """`a` is needed by most, but never enough; `c` twice is."""
    needed = (("a", "b"), ("a", "b"), ("a", "c"), ("c",), ("c",), ("d",))
    cases = tuple(case(*(comparison("mine", word) for word in words)) for words in needed)
    (found,) = unsupported_features(RunResult(cases, 0.0, {}))
    assert found.features == ("c", "d", "a", "b")
    assert found.unlocks == {"c": 2, "d": 1, "a": 0, "b": 0}


def test_what_the_reference_lacks_is_its_own() -> None:
    """Of a case it says so itself; the engines that were compared with it lack nothing."""
    subject = Subject(ClaimKind.RAISES, "x", engine="mine", reference="torch")
    found = case(Comparison(subject, "unsupported", lacks="sinc", reference_lacks=True))
    assert unsupported_by_engine(found) == {}
    assert unsupported_features(RunResult((found, CASES[0]), 0.0, {})) == [
        UnsupportedFeatures("torch", ("sinc",), unsupported=1, cases=1, unlocks={"sinc": 1}),
        UnsupportedFeatures("mine", ("softmax",), unsupported=1, cases=2, unlocks={"softmax": 1}),
    ]


def test_a_failed_case_is_none_that_could_not_run() -> None:
    failed = replace(CASES[0], status="failed")
    assert unsupported_features(RunResult((failed, CASES[3]), 0.0, {})) == [
        UnsupportedFeatures("yours", ("matmul",), unsupported=1, cases=2, unlocks={"matmul": 1}),
    ]


def test_a_run_names_what_its_reference_lacks(check: Check, torch_with: TorchWith) -> None:
    torch_with("sinc", None)
    found = check("{inputs: {x: [1.0]}, graph: {y: sinc(x)}}")
    (one,) = unsupported_features(RunResult((found,), 0.0, {}))
    assert (one.engine, one.features, one.unsupported, one.cases) == ("torch", ("sinc",), 1, 1)


def test_one_case_has_each_word_once() -> None:
    assert unsupported_by_engine(case(*[comparison("mine", "softmax")] * 2, comparison("yours"))) == {
        "mine": ("softmax",)
    }
