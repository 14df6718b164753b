"""How conformance is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.conformance.engine_conformance import Conformance
from gradcheck.checks.conformance.properties import PropertyFinding
from gradcheck.facts import fact
from gradcheck.reports import Look
from gradcheck.reports.commands.conformance_report import as_json, as_markdown, render, verdict


@pytest.fixture
def found(run: Any, case: Any, failed: Any, comparison: Any) -> Conformance:
    """An engine that is wrong in a case, an op and a property, and lacks something."""
    wrong = case("wrong", "failed", comparisons=(failed(np.ones(2), np.full(2, 2.0)),))
    lacks = case("unsupported", "unsupported", comparisons=(comparison(status="unsupported", lacks="fft"),))
    return Conformance(
        "mine.Tensor\x1b",
        run(case("right"), wrong, lacks),
        {"add": "right", "mul": "wrong", "fft": "lacking"},
        run(wrong),
        (PropertyFinding("deep graphs", "holds"), PropertyFinding("order", "fails", fact("depends_on_order"))),
        (fact("computes_in", dtype="float32"),),
    )


def test_the_table(found: Conformance) -> None:
    lines = render(found, Look(width=100)).splitlines()
    verdict = "mine.Tensor\\x1b is wrong in 1 case, 1 op, 1 property"
    assert lines[:3] == [verdict, "", "  it computes in float32, and is held to that"]
    assert lines[3].startswith("2 failed of 4 cases")
    assert lines[lines.index("  properties") :] == [
        "  properties",
        "    ok     deep graphs",
        "    FAIL   order        the gradient depends on which of two summands was made first",
        "",
        "  ops         1 wrong: mul",
        "              1 right: add",
        "              1 lacking: fft",
        "",
        "  cases       1 right, 1 wrong, 1 lacking",
        "              wrong: cases/chain.yaml::wrong",
        "  gained      core cannot run 1 of 2 cases; one more feature adds cases: fft (1)",
        "",
        verdict,
    ]


def test_each_op_is_listed_once_and_of_many_the_commonest(found: Conformance) -> None:
    """One that is written in wrong ones is not lacking besides, and one that is right in other forms is right."""
    many = {f"op{i}": "right" for i in range(45)}
    some = replace(
        found, ops={**many, "take": "lacking", "lerp": "lacking"}, made_of={"take": ("mul",), "op3": ("mul",)}
    )
    short, whole = (render(some, Look(width=200, verbosity=one)) for one in (0, 1))
    assert "op39, and 5 more (-v lists them)" in short
    assert "op44" not in short
    assert "op44" in whole
    assert "1 lacking: lerp" in short
    assert "1 not judged, written in what is wrong: take (of mul)" in short
    assert short.count("take") == short.count("op3,") == 1


def test_verbose_says_what_is_wrong_first(found: Conformance) -> None:
    text = " ".join(render(found, Look(verbosity=1)).split())
    assert "wrong: cases/chain.yaml::wrong: gradient of y: core differs from torch in 2 of 2 elements" in text
    assert text.count("wrong: wrong: gradient of y") == 1


def test_an_engine_that_is_right_conforms(run: Any, case: Any) -> None:
    right = Conformance(
        "mine", None, {"add": "right", "fft": "lacking"}, run(case()), (PropertyFinding("order", "holds"),)
    )
    assert verdict(right) == "mine conforms in all that it can be asked"
    assert "cases" not in render(right, Look(width=100))


def test_where_nothing_was_checked_that_is_the_verdict(run: Any, case: Any) -> None:
    nothing = Conformance("mine", None, {"fft": "lacking"}, run(case()), (PropertyFinding("order", "unsupported"),))
    assert nothing.checked_nothing
    assert verdict(nothing) == "mine: nothing was checked"


def test_markdown_for_a_readme(found: Conformance) -> None:
    assert as_markdown(found).splitlines() == [
        "| mine.Tensor\\x1b | right | wrong | lacking |",
        "|---|---|---|---|",
        "| cases | 1 | 1 | 1 |",
        "| ops | 1 | 1 | 1 |",
        "| properties | 1 | 1 | 0 |",
        "",
        "mine.Tensor\\x1b is wrong in 1 case, 1 op, 1 property.",
    ]


def test_json_for_programs(found: Conformance) -> None:
    document = json.loads(as_json(found))
    assert (document["schema"], document["conforms"]) == (1, False)
    assert document["cases"]["cases/chain.yaml::wrong"] == "failed"
    assert document["ops"]["fft"] == "lacking"
    assert document["properties"][0] == {"name": "deep graphs", "status": "holds", "message": ""}
    assert document["lacking"] == ["fft"]


def test_every_cause_is_told_for_nothing_is_told_below(run: Any, case: Any, failed: Any) -> None:
    apart = [
        case(f"case {i}", "failed", file=f"{i}.yaml", comparisons=(failed(np.ones(2), np.full(2, 2.0 + i)),))
        for i in range(30)
    ]
    many = Conformance("mine", None, {"mul": "wrong"}, run(*apart), ())
    text = render(replace(many, properties=(PropertyFinding("order", "holds"),)), Look(width=100))
    assert "told below" not in text
    assert all(f"{i}.yaml" in text or "30 calls" in text for i in range(30))
