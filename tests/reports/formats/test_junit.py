"""JUnit's XML has the shape that Jenkins, GitLab and pytest agree on."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from gradcheck.checks.result import RunResult
from gradcheck.reports import render

#: What Jenkins' junit-10.xsd allows.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors", "disabled"},
    "testsuite": {"name", "time", "tests", "failures", "errors", "skipped", "disabled", "timestamp", "hostname", "id"},
    "testcase": {"name", "classname", "time", "group"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
}


def parse(result: RunResult) -> ElementTree.Element:
    return ElementTree.fromstring(render(result, "junit"))


def test_totals_are_those_of_the_cases_below(everything: RunResult) -> None:
    root = parse(everything)
    for suite in (root, *root):
        for total, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if suite is not root or total != "skipped":
                assert int(suite.get(total, "-1")) == len(list(suite.iter(tag))), (suite.get("name"), total)
    assert {k: root.get(k) for k in ("tests", "failures", "errors")} == {"tests": "8", "failures": "2", "errors": "2"}


def test_only_the_common_attributes_and_children_occur(everything: RunResult) -> None:
    for element in parse(everything).iter():
        assert set(element.keys()) <= ATTRIBUTES[element.tag], element.tag
        assert re.fullmatch(r"\d+\.\d{3}", element.get("time", "0.000"))
        if element.tag == "testcase":
            assert len(element) <= 1
            assert float(element.get("time", "nan")) >= 0


def test_a_suite_a_file_a_testcase_a_case(everything: RunResult) -> None:
    suites = {suite.get("name"): [case.get("name") for case in suite] for suite in parse(everything)}
    assert suites["cases/bad.yaml"] == ["the file itself"]
    assert suites["cases/chain.yaml"][:2] == ["a sum", "chain of four matrices"]


def test_a_failure_carries_its_message_and_details(everything: RunResult) -> None:
    failure = next(parse(everything).iter("failure"))
    assert "gradient of w: core differs from torch" in failure.get("message", "")
    assert "reproduce: gradcheck run" in (failure.text or "")


def test_skips_say_why(everything: RunResult) -> None:
    reasons = [(e.get("type"), e.get("message")) for e in parse(everything).iter("skipped")]
    assert reasons == [
        ("skipped", "needs complex numbers"),
        ("xfailed", "fails as expected: torch's own bug"),
        ("unsupported", "core has no op 'fft'"),
    ]


def test_what_xml_forbids_is_replaced(run: Any, case: Any, error: Any) -> None:
    crash = case("a\0b<&\"'\x1b\ud800\uffff]]>", "crashed", errors=(error("crash", "\0 <x>", details="\x0b]]>"),))
    root = parse(run(crash))
    testcase = next(root.iter("testcase"))
    assert testcase.get("name") == "a\ufffdb<&\"'\ufffd\ufffd\ufffd]]>"
    assert "\\x00 <x>" in next(root.iter("error")).get("message", "")
