"""A report in which something cannot be told: one case is poorer for it, and says so."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from gradcheck.facts import fact
from gradcheck.reports import FORMATS, Look, render
from tests.reports.conftest import make_case, make_comparison, make_run


@pytest.fixture
def broken() -> Any:
    """Three cases, of which the second holds a fact without what its sentence speaks of."""
    unspeakable = make_comparison("formula", "x", "failed", formula="x")
    unspeakable = unspeakable.with_notes(fact("no_trial"))
    wrong = make_case("untellable", "failed", comparisons=(unspeakable,))
    return make_run(make_case("first"), wrong, make_case("last"))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("verbosity", [0, 1])
def test_it_costs_the_report_nothing_else(broken: Any, format: str, verbosity: int) -> None:
    text = render(broken, format, Look(verbosity=verbosity))
    if format == "json":
        cases = json.loads(text)["cases"]
        assert [case["status"] for case in cases] == ["passed", "failed", "passed"]
        assert "KeyError" in cases[1]["incomplete"][0]["message"]
    elif format == "junit":
        assert [case.get("name") for case in ElementTree.fromstring(text).iter("testcase")] == [
            "first", "untellable", "last",
        ]  # fmt: skip
    elif verbosity or format != "concise":
        assert "untellable" in text
    assert "cannot be told: KeyError" in text or format != "full"
