"""Recognition of gradcheck's own reports: no other file is overwritten."""

from __future__ import annotations

import re
from typing import get_args

from gradcheck.checks.result import CaseStatus

#: How much of a file is looked at, in characters, at its beginning and at its end.
PROBE_SIZE = 4096
_JSON = re.compile(r'\s*\{"schema": \d+, "gradcheck": ')
_LINES = re.compile(r'\s*\{"event": "begin", "schema": \d+, "gradcheck": ')
_GITLAB = re.compile(r'\s*\[(\{"check_name": "gradcheck/|\]\s*$)')
_SARIF = re.compile(r'\s*\{"\$schema": "[^"]*sarif[^"]*", "version": [^{]*\{"tool": \{"driver": \{"name": "gradcheck"')
_MARKED = re.compile(r"\s*(<!DOCTYPE html>\s*)?<!-- a report of gradcheck -->")
_JUNIT = re.compile(r'\s*(<\?xml[^>]*>)?\s*<testsuites name="gradcheck"')
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
#: The summary, which is the last line of what is written for people and for GitHub.
_SUMMARY = re.compile(rf"(interrupted: .*|(no cases|\d+ ({'|'.join(get_args(CaseStatus))})\b).* in [\d.hm ]+s)")


def is_report(begin: str, end: str) -> bool:
    """Return whether a file with this begin and end is a report of gradcheck."""
    if any(form.match(begin) for form in (_JSON, _LINES, _JUNIT, _GITLAB, _SARIF, _MARKED)):
        return True
    *_, last = ["", *_COLOUR.sub("", end).rstrip().splitlines()]
    return _SUMMARY.fullmatch(last) is not None
