"""The catalogue itself: its order, its documentation, and how a hypothesis is added."""

from __future__ import annotations

import re

import pytest

from gradcheck.checks.failures.diagnosis import CATALOGUE, KINDS, catalogue
from gradcheck.checks.failures.diagnosis.catalogue import OF_ENGINES, Hypothesis, hypothesis
from gradcheck.checks.run import run
from gradcheck.language.loader.files import load_text
from gradcheck.reports.phrases import say, table
from gradcheck.reports.phrases.diagnoses import MEANINGS
from tests.checks.mutants import Applied, WrongRule
from tests.paths import ROOT


def test_the_catalogue_is_ordered_by_kind_and_every_kind_is_recognised() -> None:
    ranks = [KINDS.index(entry.kind) for entry in CATALOGUE]
    assert ranks == sorted(ranks)
    assert {entry.kind for entry in CATALOGUE} == set(KINDS)


def test_what_is_covered_exists() -> None:
    assert all(set(entry.covers) <= set(KINDS) - {entry.kind} for entry in CATALOGUE)


def test_a_kind_that_is_not_listed_is_refused() -> None:
    with pytest.raises(ValueError, match="no kind of mistake 'sings'"):
        hypothesis("sings")


def test_a_kind_has_its_place_and_its_meaning() -> None:
    assert len(set(KINDS)) == len(KINDS)
    assert list(MEANINGS) == [*KINDS, *OF_ENGINES]


def test_the_page_lists_every_kind() -> None:
    page = (ROOT / "docs" / "diagnoses.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE))
    assert rows == MEANINGS


def test_the_example_of_the_guide_works(scratch: list[Hypothesis], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chapter = text.partition("## Add a diagnosis")[2].partition("\n## ")[0]
    (kind,) = re.findall(r'@hypothesis\("(\w+)"', chapter)
    monkeypatch.setattr(catalogue, "KINDS", [kind, *KINDS])
    monkeypatch.setattr(table, "PHRASES", dict(table.PHRASES))
    for code in re.findall(r"```python\n(.*?)```", chapter, re.DOTALL):
        exec(compile(code, "CONTRIBUTING.md", "exec"), {})
    assert scratch[0].kind == kind

    def wrong(a: Applied) -> object:
        assert a.incoming is not None
        found = a.again({}, [a.incoming * a.incoming])
        return found[a.index]

    cases, _ = load_text("inputs: {x: 'randn(3)'}\ngraph: {out: exp(x)}\nbackward: {out: 'randn(3)'}\n", "guide.yaml")
    result = run(cases, engines=[WrongRule(0, wrong)]).cases[0]
    (cause,) = [c for c in result.comparisons if c.cause]
    assert cause.diagnoses[0].kind == kind
    assert say(cause.diagnoses[0].message) == "the incoming gradient is multiplied in twice"
