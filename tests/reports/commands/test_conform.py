"""How conformance is shown."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.conformance.conform import Conformance
from gradcheck.checks.conformance.properties import Finding
from gradcheck.facts import fact
from gradcheck.reports import Look
from gradcheck.reports.commands.conform import as_json, render, verdict


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
        (Finding("deep graphs", "holds"), Finding("order", "fails", fact("depends_on_order"))),
    )


def test_the_table(found: Conformance) -> None:
    assert render(found, Look(width=100)).splitlines() == [
        "mine.Tensor\\x1b",
        "",
        "  cases       1 right, 1 wrong, 1 lacking",
        "              wrong: cases/chain.yaml::wrong",
        "  ops         1 right: add",
        "              1 wrong: mul",
        "              1 lacking: fft",
        "",
        "  properties",
        "    ok     deep graphs",
        "    FAIL   order        the gradient depends on which of two summands was made first",
        "",
        "mine.Tensor\\x1b is wrong in 1 cases, 1 ops, 1 properties",
    ]


def test_verbose_says_what_is_wrong_first(found: Conformance) -> None:
    text = " ".join(render(found, Look(verbosity=1)).split())
    assert "wrong: cases/chain.yaml::wrong: gradient of y: core differs from torch in 2 of 2 elements" in text
    assert text.count("wrong: wrong: gradient of y") == 1


def test_an_engine_that_is_right_conforms(run: Any, case: Any) -> None:
    right = Conformance("mine", None, {"add": "right", "fft": "lacking"}, run(case()), (Finding("order", "holds"),))
    assert verdict(right) == "mine conforms in all that it can be asked"
    assert "cases" not in render(right, Look(width=100))


def test_json_for_programs(found: Conformance) -> None:
    document = json.loads(as_json(found))
    assert (document["schema"], document["conforms"]) == (1, False)
    assert document["cases"]["cases/chain.yaml::wrong"] == "failed"
    assert document["ops"]["fft"] == "lacking"
    assert document["properties"][0] == {"name": "deep graphs", "status": "holds", "message": ""}
    assert document["lacking"] == ["fft"]
