"""SARIF 2.1.0 (OASIS 2020), for GitHub code scanning and editors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gradcheck import __version__
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports import Look
from gradcheck.reports.located_messages import Fingerprints, LocatedMessage, located_messages
from gradcheck.reports.source_lines import is_outside_repository, path_in_repository

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(result: RunResult, look: Look) -> str:
    """Return one run, in ASCII."""
    prints = Fingerprints()
    found = [
        _result(case, problem, "error" if is_failure else "note", prints)
        for case, problem, is_failure in located_messages(result)
    ]
    rules = list(map(_rule, dict.fromkeys(one["ruleId"] for one in found)))
    driver = {"name": "gradcheck", "version": __version__, "semanticVersion": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": result.exit_code in (0, 1), "exitCode": result.exit_code}],
        "columnKind": "unicodeCodePoints",
        "results": found,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


#: The help of rules whose name does not say all. The other kinds of rules are errors, and their messages help.
_HELP: dict[str, str] = {
    ClaimKind.VALUE: "The engine's forward value of a tensor is wrong, so gradients behind it are, too.",
    ClaimKind.NODE: "The gradient rule of one operation is wrong: it was applied alone, to its numbers in the graph.",
    ClaimKind.GRADIENT: "The engine's gradient of a tensor differs from the reference.",
    ClaimKind.EXPECTED: "The gradient is not the one that the file states under `expected`.",
    ClaimKind.FORMULA: "A formula derived by hand is not the gradient. The message has a correction or a cause.",
    ClaimKind.JACOBIAN: "A claim about a Jacobian is wrong.",
    ClaimKind.HESSIAN: "A claim about a matrix of second derivatives is wrong.",
    ClaimKind.CHECK: "An equation or an inequality of the file does not hold.",
    ClaimKind.CODE: "Code behaves in a way that its callers do not expect, whatever its numbers.",
    ClaimKind.WRONG_FORMULA: "The file says that a formula is wrong, but it was not refuted.",
}


def _rule(rule: str) -> dict[str, Any]:
    words = rule.replace("_", " ").replace("-", " ")
    rule_help = {"help": {"text": _HELP[rule]}} if rule in _HELP else {}
    return {"id": rule, "name": words.title().replace(" ", ""), "shortDescription": {"text": words}, **rule_help}


def _result(case: CaseResult, problem: LocatedMessage, level: str, prints: Fingerprints) -> dict[str, Any]:
    fixes = {} if problem.replacement is None else {"fixes": [_fix(problem, problem.replacement)]}
    text = f"{case.name}: {problem.message}" if case.name else problem.message
    region = _region(problem)
    location = {"artifactLocation": _artifact(problem), **({"region": region} if region else {})}
    return {
        "ruleId": problem.rule,
        "level": level,
        "message": {"text": text.replace("](", "] (")},  # else a link (SARIF 3.11.6), perhaps of a stranger
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"gradcheck/v1": prints.of(case, problem)},
        **fixes,
    }


def _artifact(problem: LocatedMessage) -> dict[str, str]:
    """Return a URI from the repository's root; outside of it, an absolute one."""
    seen = path_in_repository(problem.place.file)
    if is_outside_repository(seen):
        return {"uri": "file://" + _quoted(Path(os.path.abspath(problem.place.file)).as_posix())}
    return {"uri": _quoted(seen), "uriBaseId": "%SRCROOT%"}


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "backslashreplace"))


def _region(problem: LocatedMessage) -> dict[str, int]:
    place = problem.place
    if not place.line:
        return {}
    region = {"startLine": place.line}
    if place.column:
        region["startColumn"] = place.column
        if problem.length:
            region |= {"endLine": place.line, "endColumn": place.column + problem.length}
    return region


def _fix(problem: LocatedMessage, text: str) -> dict[str, Any]:
    replacement = {"deletedRegion": _region(problem), "insertedContent": {"text": text}}
    return {
        "description": {"text": f"write {text}"},
        "artifactChanges": [{"artifactLocation": _artifact(problem), "replacements": [replacement]}],
    }
