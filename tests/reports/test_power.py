"""Power in words, in the full report and in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look, render
from gradcheck.reports.power import power_lines, power_summary

POWER: dict[str, Any] = {
    "planted": 5, "caught": 5, "equivalent": 1, "vacuous": False, "smallest": {"x": 2e-10, "y": 3e-10}, "survivors": [],
}  # fmt: skip


def case(power: Mapping[str, Any] | None) -> CaseResult:
    return CaseResult("cases/a.yaml::a", "cases/a.yaml", "a", "passed", power=power)


def run(*cases: CaseResult) -> RunResult:
    return RunResult(cases, 0.1, {})


def test_all_caught() -> None:
    assert power_lines(case(POWER)) == ["power: 5 of 5 planted faults caught; relative errors seen from 2e-10"]
    apart = POWER | {"smallest": {"x": 2e-10, "y": 3e-6}}
    (line,) = power_lines(case(apart))
    assert line.endswith("caught; relative errors seen from 2e-10 (x), 3e-06 (y)")


def test_survivors_are_listed_and_all_of_them_on_demand() -> None:
    survivors = [{"kind": "negated", "where": f"the rule of op{i} for 'x'"} for i in range(5)]
    lines = power_lines(case(POWER | {"planted": 10, "survivors": survivors}))
    assert lines[0].startswith("power: 5 of 10 planted faults caught")
    assert lines[1] == "  not caught: negated, in the rule of op0 for 'x'"
    assert lines[-1] == "  and 2 more; -v shows them all"
    assert len(power_lines(case(POWER | {"survivors": survivors}), everything=True)) == 6


def test_vacuous_cases_say_so() -> None:
    assert power_lines(case(POWER | {"vacuous": True, "caught": 0})) == [
        "power: vacuous: no fault that can be planted here would be noticed"
    ]


def test_what_was_not_measured_says_nothing() -> None:
    assert power_lines(case(None)) == []
    assert power_summary(run(case(None))) == ""
    assert "power" not in json.loads(render(run(case(None)), "json"))["cases"][0]


def test_the_run_is_summed_up() -> None:
    vacuous = POWER | {"planted": 0, "caught": 0, "vacuous": True}
    result = run(case(POWER), case(POWER | {"planted": 7}), case(vacuous), case(None))
    assert power_summary(result) == "power: 10 of 12 planted faults caught (83.3 %); 1 case vacuous"
    text = render(result, "full", Look())
    assert "\n          power: 5 of 5 planted faults caught" in text
    assert text.splitlines()[-2].startswith("power: 10 of 12")


def test_json_has_it_as_it_is() -> None:
    (first,) = json.loads(render(run(case(POWER)), "json"))["cases"]
    assert first["power"] == POWER
