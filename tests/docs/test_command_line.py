"""The page on the command line names every key of the JSON report, and no other."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gradcheck.checks.mutation_score import MutationScore
from gradcheck.checks.result import Diagnosis, Reproduction, Trial
from gradcheck.facts import fact
from gradcheck.language.case import Edit
from gradcheck.reports import render
from gradcheck.reports.formats.full import MARKS, QUALIFIED_MARK
from tests.documents import blocks, gradcheck
from tests.paths import ROOT
from tests.reports.conftest import make_case, make_comparison, make_everything, make_failed, make_run

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
JSON = PAGE.split("\n## JSON\n")[1]


def rows(title: str) -> dict[str, str]:
    """The rows of the table below a title: by each key of the first column, the second."""
    table = JSON.split(f"**{title}**\n")[1].split("\n\n**")[0]
    found: dict[str, str] = {}
    for first, second in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.MULTILINE):
        found |= dict.fromkeys(words(first), second)
    return found


def words(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


@cache
def document() -> Any:
    """A report in which every key occurs."""
    suggestion = Diagnosis(
        "did_you_mean", fact("did_you_mean", formula="2 * x"), "possible", fact("suggestion_holds", points=2), "2 * x",
        Edit(0, 1, "2 * x"),
    )  # fmt: skip
    unknown = Diagnosis("unknown", fact("nothing_explains_it", tried=("sign",)), tried=("sign",))
    wrong = make_failed([1.0], [2.0], what="formula", engine="case", formula="x", trial=Trial(1, 0, {"n": 2}),
                        diagnoses=(suggestion, unknown))  # fmt: skip
    lacking = make_comparison("raises", status="unsupported", engine="mine", lacks="softmax")
    case = replace(
        make_case(status="failed", comparisons=(wrong,)),
        smallest=Reproduction("graph: {}", 1),
        power=MutationScore((), 0, {}),
        known=fact("known_failure", file="known.json"),
        drift=(fact("has_drifted", claim="value of y by core", was=1e-15, now=1e-11),),
    )
    unsupported = make_case(status="unsupported", comparisons=(lacking,))
    return json.loads(render(make_run(case, unsupported, *make_everything().cases), "json"))


def keys_below(key: str, section: str = "cases") -> set[str]:
    """The keys of all objects that stand under a key in the cases."""
    found: set[str] = set()
    for case in document()[section]:
        listed = case.get(key) or []
        for one in listed if isinstance(listed, list) else [listed]:
            found |= set(one)
    return found


def comparisons() -> list[dict[str, Any]]:
    return [c for case in document()["cases"] for c in case["comparisons"]]


def test_the_tables_have_every_key_and_no_other() -> None:
    assert set(rows("The document")) == set(document())
    assert set(rows("A case")) == {key for case in document()["cases"] for key in case}
    assert set(rows("A comparison")) == {key for c in comparisons() for key in c}


def test_the_rows_name_what_lies_below() -> None:
    top, case, comparison = rows("The document"), rows("A case"), rows("A comparison")
    assert words(top["environment"]) == set(document()["environment"])
    assert words(top["summary"]) == set(document()["summary"])
    assert words(top["lacking"]) == {key for one in document()["lacking"] for key in one}
    assert words(case["errors"]) == keys_below("errors")
    assert words(case["smallest"]) == keys_below("smallest")
    assert words(case["drift"]) == keys_below("drift")
    assert words(case["power"]) == keys_below("power") | {"kind", "where"}
    assert words(comparison["trial"]) == {key for c in comparisons() for key in c["trial"] or ()}


def test_the_keys_of_diagnoses_are_named() -> None:
    told = words(JSON.split("**A diagnosis**")[1].split("**A certificate**")[0])
    kinds = {"did_you_mean", "derived", "counterexample", "unknown"}
    values = kinds | {"confirmed", "possible", "column", "end_column", "line"}
    assert told - values == {key for c in comparisons() for one in c["diagnoses"] for key in one}


def test_the_words_and_marks_of_a_listing_are_explained() -> None:
    from gradcheck.reports.failed_case import STATUS_WORDS

    table = PAGE.split("| mark | word |")[1].split("\n\n")[0]
    found = dict(re.findall(r"^\| `(.)` \| `([\w/]+)` \|", table, re.MULTILINE))
    assert found == {mark: STATUS_WORDS[status][0] for status, mark in MARKS.items()} | {QUALIFIED_MARK: "ok"}


def test_the_answer_of_the_cookbook_is_what_comes_out(tmp_path: Path) -> None:
    (shown,) = [block for block in blocks(ROOT / "docs" / "command-line.md", "text") if block.startswith("$ ")]
    command, _, answer = shown.partition("\n")
    code, out = gradcheck(tmp_path, *shlex.split(command)[2:])
    assert code == 0
    assert out.strip() == answer.strip()
