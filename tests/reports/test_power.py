"""Power in words, in the full report and in JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from gradcheck.checks.power import Mutant, Power
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.facts import fact
from gradcheck.reports import Look, render
from gradcheck.reports.power import power_json, power_lines, power_summary


def mutant(number: int, caught_by: str = "") -> Mutant:
    return Mutant(fact("rule_negated"), fact("in_rule", op=f"op{number}", argument="x"), caught_by)


CAUGHT = tuple(mutant(number, "gradient") for number in range(5))
SURVIVORS = tuple(mutant(number) for number in range(5))
POWER = Power(CAUGHT, equivalent=1, smallest={"x": 2e-10, "y": 3e-10})


def case(power: Power | None) -> CaseResult:
    return CaseResult("cases/a.yaml::a", "cases/a.yaml", "a", "passed", power=power)


def run(*cases: CaseResult) -> RunResult:
    return RunResult(cases, 0.1, {})


def test_all_caught() -> None:
    assert power_lines(case(POWER)) == ["power: 5 of 5 planted faults caught; relative errors seen from 2e-10"]
    apart = replace(POWER, smallest={"x": 2e-10, "y": 3e-6})
    (line,) = power_lines(case(apart))
    assert line.endswith("caught; relative errors seen from 2e-10 (x), 3e-06 (y)")


def test_survivors_are_listed_and_all_of_them_on_demand() -> None:
    some = replace(POWER, mutants=CAUGHT + SURVIVORS)
    lines = power_lines(case(some))
    assert lines[0].startswith("power: 5 of 10 planted faults caught")
    assert lines[1] == "  not caught: negated, in the rule of op0 for 'x'"
    assert lines[-1] == "  and 2 more; -v shows them all"
    assert len(power_lines(case(some), everything=True)) == 6


def test_vacuous_cases_say_so() -> None:
    assert power_lines(case(Power(SURVIVORS))) == ["power: vacuous: no fault that can be planted here would be noticed"]


def test_what_was_not_measured_says_nothing() -> None:
    assert power_lines(case(None)) == []
    assert power_summary(run(case(None))) == ""
    assert "power" not in json.loads(render(run(case(None)), "json"))["cases"][0]


def test_the_run_is_summed_up() -> None:
    seven = replace(POWER, mutants=CAUGHT + SURVIVORS[:2])
    result = run(case(POWER), case(seven), case(Power(())), case(None))
    assert power_summary(result) == "power: 10 of 12 planted faults caught (83.3 %); 1 case vacuous"
    text = render(result, "full", Look())
    assert "\n          power: 5 of 5 planted faults caught" in text
    assert text.splitlines()[-2].startswith("power: 10 of 12")


def test_json_has_it_whole() -> None:
    power = replace(POWER, mutants=CAUGHT + SURVIVORS[:1])
    (first,) = json.loads(render(run(case(power)), "json"))["cases"]
    assert first["power"] == power_json(power) == {
        "planted": 6, "caught": 5, "equivalent": 1, "vacuous": False, "smallest": {"x": 2e-10, "y": 3e-10},
        "survivors": [{"kind": "negated", "where": "the rule of op0 for 'x'"}],
    }  # fmt: skip
