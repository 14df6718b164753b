"""What is said of a whole run, of its power too, in words and in JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from gradcheck.checks.coverage import Coverage
from gradcheck.checks.mutation_score import Mutant, MutationScore
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.facts import fact
from gradcheck.reports import Look, render
from gradcheck.reports.summary import (
    coverage_lines,
    missing_features_text,
    mutation_score_lines,
    mutation_score_summary,
    slowest_lines,
    summary,
    unsupported_lines,
)

FOUND = Coverage(
    ops={"add"}, rules={("add", "other")}, lines={"a.py": {3, 4}}, all_lines={"a.py": {3, 4, 5, 6, 9}, "b.py": {1}}
)


def test_what_is_wrong_is_counted_first(run: Any, case: Any) -> None:
    cases = [case(status=status) for status in ("passed", "skipped", "failed", "passed", "crashed")]
    assert summary(run(*cases)) == "1 failed, 1 crashed, 2 passed, 1 skipped in 4.2s"
    assert summary(run(interrupted=True)) == "interrupted: no cases in 4.2s"
    found = run(*[case(f"c{number}") for number in range(6)], interrupted=True, selected=200)
    assert summary(found) == "interrupted: 6 of 200 ran: 6 passed in 4.2s"


def test_what_an_earlier_run_has_found_is_counted(run: Any, case: Any) -> None:
    known = replace(case(), cached=True)
    assert summary(run(known, known, case(status="failed"))) == "1 failed, 2 passed in 4.2s, 2 from the cache"
    document = json.loads(render(run(known, case()), "json"))
    assert document["summary"]["cached"] == 1
    assert [one["cached"] for one in document["cases"]] == [True, False]


def test_what_an_engine_lacks_is_said_once(run: Any, case: Any, comparison: Any) -> None:
    def lacking(*words: str, engine: str = "mine") -> tuple[Any, ...]:
        return tuple(comparison("raises", status="unsupported", engine=engine, lacks=word) for word in words)

    one = case("one", "unsupported", comparisons=lacking("softmax"))
    two = case("two", "unsupported", comparisons=lacking("softmax", "matmul"))
    fine = case("fine", comparisons=(comparison(engine="mine"),))
    assert unsupported_lines(run(one, two, fine)) == [
        "mine cannot run 2 of 3 cases; one more feature adds cases: softmax (1); others need several features: matmul"
    ]
    assert missing_features_text(two) == "has no softmax, matmul"
    both = case("both", "unsupported", comparisons=lacking("cat") + lacking("stack", engine="yours"))
    assert missing_features_text(both) == "mine has no cat; yours has no stack"
    assert missing_features_text(fine) == missing_features_text(replace(two, status="xfailed")) == ""


def mutant(number: int, caught_by: str = "") -> Mutant:
    return Mutant(fact("rule_negated"), fact("in_rule", op=f"op{number}", argument="x"), caught_by)


CAUGHT = tuple(mutant(number, "gradient") for number in range(5))
SURVIVORS = tuple(mutant(number) for number in range(5))
POWER = MutationScore(CAUGHT, equivalent=1, smallest_seen_error={"x": 2e-10, "y": 3e-10})


def powered(power: MutationScore | None) -> CaseResult:
    return CaseResult("cases/a.yaml::a", "cases/a.yaml", "a", "passed", power=power)


def of(*cases: CaseResult) -> RunResult:
    return RunResult(cases, 0.1, {})


def test_all_caught() -> None:
    assert mutation_score_lines(powered(POWER)) == [
        "power: 5 of 5 planted faults caught; relative errors seen from 2e-10"
    ]
    apart = replace(POWER, smallest_seen_error={"x": 2e-10, "y": 3e-6})
    (line,) = mutation_score_lines(powered(apart))
    assert line.endswith("caught; relative errors seen from 2e-10 (x), 3e-06 (y)")


def test_survivors_are_listed_and_all_of_them_on_demand() -> None:
    some = replace(POWER, mutants=CAUGHT + SURVIVORS)
    lines = mutation_score_lines(powered(some))
    assert lines[0].startswith("power: 5 of 10 planted faults caught")
    assert lines[1] == "  not caught: negated, in the rule of op0 for 'x'"
    assert lines[-1] == "  and 2 more; -v shows them all"
    assert len(mutation_score_lines(powered(some), everything=True)) == 6


def test_vacuous_cases_say_so() -> None:
    assert mutation_score_lines(powered(MutationScore(SURVIVORS))) == [
        "power: vacuous: no fault that can be planted here would be noticed"
    ]


def test_what_was_not_measured_says_nothing() -> None:
    assert mutation_score_lines(powered(None)) == []
    assert mutation_score_summary(of(powered(None))) == ""
    assert "power" not in json.loads(render(of(powered(None)), "json"))["cases"][0]


def test_the_run_is_summed_up() -> None:
    seven = replace(POWER, mutants=CAUGHT + SURVIVORS[:2])
    result = of(powered(POWER), powered(seven), powered(MutationScore(())), powered(None))
    said = mutation_score_summary(result)
    assert said.startswith("power: 10 of 12 planted faults caught (83.3%); 1 case vacuous; in 5 of ")
    assert said.endswith(" rules of the table")
    text = render(result, "full", Look())
    assert "\n          power: 5 of 5 planted faults caught" in text
    assert text.splitlines()[-2].startswith("power: 10 of 12")


def test_json_has_it_whole() -> None:
    power = replace(POWER, mutants=CAUGHT + SURVIVORS[:1])
    (first,) = json.loads(render(of(powered(power)), "json"))["cases"]
    assert first["power"] == {
        "planted": 6, "caught": 5, "equivalent": 1, "vacuous": False, "smallest": {"x": 2e-10, "y": 3e-10},
        "survivors": [{"kind": "negated", "where": "the rule of op0 for 'x'"}],
    }  # fmt: skip


def test_the_slowest_are_named_the_slowest_first(run: Any, case: Any) -> None:
    found = run(*[case(f"c{number}", seconds=float(number)) for number in (1, 3, 2)])
    assert slowest_lines(found, None) == []
    assert [line.split()[0] for line in slowest_lines(found, 0)] == ["3.0s", "2.0s", "1.0s"]
    (slowest,) = slowest_lines(found, 1)
    assert slowest.endswith("::c3")
    for name in ("full", "concise"):
        assert slowest in render(found, name, Look(durations=1)).splitlines()[-2]


def test_the_slowest_cases_and_stages_are_named(run: Any, case: Any) -> None:
    slow = replace(case(), seconds=4.0, stage_seconds={"trials": 0.1, "combinations": 3.0, "kinks": 0.6})
    fast = replace(case(), seconds=1.0, stage_seconds={})
    lines = slowest_lines(run(fast, slow), 2)
    assert [line.split()[0] for line in lines] == ["4.0s", "1.0s"]
    assert lines[0].endswith("  (combinations 3.0s, kinks 0.60s)")
    assert not lines[1].endswith(")")
    assert len(slowest_lines(run(fast, slow), 1)) == 1
    assert slowest_lines(run(fast, slow), None) == []


def test_counts_and_what_is_left_out() -> None:
    FOUND.lines["b.py"] = {1}
    ops, rules, arguments, lines, *left = coverage_lines(FOUND)
    assert ops.startswith("coverage: 1 of ")
    assert " ops applied; not " in ops
    assert ops.endswith("more (-v)")
    assert " rules used" in rules
    assert "coverage: 0 of " in arguments
    assert lines == "coverage: 3 of 6 (50%) lines of the engine's functions ran"
    assert left == ["  not run: a.py:5-6, 9"]


def test_all_is_listed_on_demand() -> None:
    ops, rules, *_ = coverage_lines(FOUND, everything=True)
    assert "-v" not in ops
    assert "abs(input)" in rules
    assert "add(other)" not in rules
