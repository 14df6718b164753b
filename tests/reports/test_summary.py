"""What is said of a whole run."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.reports.summary import duration, lacking_lines, lacks, summary


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0.00s"), (0.994, "0.99s"), (4.25, "4.2s"), (59.94, "59.9s"), (200.9, "3m 20s")]
)
def test_durations_are_as_exact_as_people_need(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_is_wrong_is_counted_first(run: Any, case: Any) -> None:
    cases = [case(status=status) for status in ("passed", "skipped", "failed", "passed", "crashed")]
    assert summary(run(*cases)) == "1 failed, 1 crashed, 2 passed, 1 skipped in 4.2s"
    assert summary(run(interrupted=True)) == "interrupted: no cases in 4.2s"


def test_what_an_engine_lacks_is_said_once(run: Any, case: Any, comparison: Any) -> None:
    def lacking(*words: str, engine: str = "mine") -> tuple[Any, ...]:
        return tuple(comparison("raises", status="unsupported", engine=engine, lacks=word) for word in words)

    one = case("one", "unsupported", comparisons=lacking("softmax"))
    two = case("two", "unsupported", comparisons=lacking("softmax", "matmul"))
    fine = case("fine", comparisons=(comparison(engine="mine"),))
    assert lacking_lines(run(one, two, fine)) == ["mine lacks: softmax, matmul (2 of 3 cases)"]
    assert lacks(two) == "lacks softmax, matmul"
    both = case("both", "failed", comparisons=lacking("cat") + lacking("stack", engine="yours"))
    assert lacks(both) == "mine lacks cat; yours lacks stack"
    assert lacks(fine) == ""
