"""JUnit's XML, as Jenkins, GitLab and GitHub read it: a suite a file.

It keeps to Jenkins' `junit-10.xsd`, which strict readers validate against: its attributes, and times of three decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.failed_case import failed_case_lines
from gradcheck.reports.located_messages import failure_messages, remark_messages
from gradcheck.reports.number_formats import format_number
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparison_text import status_reason

#: JUnit's word for each status that is not a plain success.
_WORDS = {
    **dict.fromkeys(("failed", "xpassed"), "failure"),
    **dict.fromkeys(("invalid", "crashed"), "error"),
    **dict.fromkeys(("skipped", "xfailed", "unsupported"), "skipped"),
}
_TOTALS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: RunResult, look: Look) -> str:
    """Return the XML document. Characters that XML forbids become U+FFFD."""
    totals = _totals(result.cases, result.seconds)
    del totals["skipped"]  # only suites have it
    root = Element("testsuites", {"name": "gradcheck", **totals})
    files: dict[str, list[CaseResult]] = {}
    for case in result.cases:
        files.setdefault(case.file, []).append(case)
    for file, cases in files.items():
        totals = _totals(cases, sum(case.seconds for case in cases))
        suite = SubElement(root, "testsuite", {"name": _legal(file), **totals})
        for case in cases:
            _add(suite, case)
    indent(root)
    body: bytes = tostring(root, encoding="us-ascii")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + body.decode() + "\n"


def _totals(cases: Iterable[CaseResult], seconds: float) -> dict[str, str]:
    words = [_WORDS.get(case.status, "") for case in cases]
    totals = {"tests": str(len(words))}
    totals |= {total: str(words.count(word)) for total, word in _TOTALS.items()}
    return totals | {"time": format_number("milliseconds", seconds)}


def _add(suite: Element, case: CaseResult) -> None:
    name = case.name or "the file itself"
    time = format_number("milliseconds", case.seconds)
    testcase = SubElement(suite, "testcase", name=_legal(name), classname=_legal(case.file), time=time)
    word = _WORDS.get(case.status)
    told = "\n".join(remark.message for remark in remark_messages(case))
    if word is None:
        if told:
            SubElement(testcase, "system-out").text = _legal(told)
        return
    if word == "skipped":
        SubElement(testcase, word, type=case.status, message=_legal(_reason(case)))
        return
    first, *_ = failure_messages(case)
    entry = SubElement(testcase, word, type=case.status, message=_legal(first.message))
    lines = failed_case_lines(case, Look(width=100, verbosity=1))
    entry.text = _legal("\n".join(["", *(line.plain for line in lines), ""]))


def _reason(case: CaseResult) -> str:
    reason = status_reason(case) or "; ".join(say(error.message) for error in case.errors)
    return f"fails as expected: {reason}" if case.status == "xfailed" else reason or case.status


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
