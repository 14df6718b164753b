"""The page: one file, with a policy that its own script and style meet, and no text that becomes markup."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.checks.result import RunResult
from gradcheck.reports import render
from gradcheck.reports.page import run_page
from tests.reports.conftest import make_case, make_run

EVIL = (
    "</script><img src=x onerror=alert(1)>",
    "\"><img src=x onerror=alert(1)> ' onfocus='alert(1)",
    "</title></style></template></svg><iframe src=javascript:alert(1)>",
    "<!--<script>",
    "]]>&lt;script&gt;{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
)
#: What may stand in a page.
ATTRIBUTES = re.compile(r"(on\w+|style|srcdoc|action|formaction|xlink:href)$")
TAGS = {"img", "iframe", "object", "embed", "form", "base", "a", "use", "image", "foreignobject"}


class Reader(HTMLParser):
    """All tags with their attributes, and the texts of scripts (with their types) and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.styles: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)
        elif self._inside == "style":
            self.styles.append(data)

    def all_tags(self) -> list[tuple[str, dict[str, str | None]]]:
        """Those of the cases, too, which wait in scripts of another type."""
        waiting = (Reader(text) for kind, text in self.scripts if kind == "text/html")
        return [*self.tags, *(pair for one in waiting for pair in one.tags)]


def assert_harmless(text: str) -> Reader:
    read = Reader(text)
    assert [kind for kind, _ in read.scripts if kind != "text/html"] == ["application/json", None]
    assert not [text for kind, text in read.scripts if kind == "text/html" and "<!--" in text]
    assert not [text for kind, text in read.scripts if kind == "application/json" and set("<>&") & set(text)]
    for tag, attributes in read.all_tags():
        assert not [name for name in attributes if ATTRIBUTES.match(name)], (tag, attributes)
        if tag in TAGS:
            assert tag in ("a", "img", "form")
        if tag == "a":
            assert str(attributes["href"]).startswith("#")
        if tag == "img":
            assert str(attributes["src"]).startswith("data:image/png;base64,")
    return read


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run of cases with names, tags, keys, formulas and numbers that want to be markup."""
    parts = []
    for number, evil in enumerate(EVIL):
        parts.append({
            "name": f"{number} {evil}",
            "description": evil,
            "tags": [evil],
            "dims": {"n": 3},
            "inputs": {"x": "randn(n)", "W": "randn(40, n)"},
            "graph": {"y": "W @ x", "loss": "(y ** 2).sum()"},
            "formulas": {"x": "W.T @ y"},
            "checks": [f"y.sum() == {number}"],
        })  # fmt: skip
    parts.append({"name": EVIL[0] + "!", "inputs": {"x": [1]}, "graph": {EVIL[1]: "x * 2", "y": f"foo({EVIL[0]!r})"}})
    file = tmp_path_factory.mktemp("evil") / "a<b>&\"'.yaml"
    file.write_text("\n---\n".join(json.dumps(part) for part in parts), encoding="utf-8")
    return run(file, reference="core", engines=["core"], oracle="none")


def test_a_page_begins_and_ends(real: RunResult) -> None:
    text = render(real, "html")
    assert text.startswith("<!DOCTYPE html>\n<!-- a report of gradcheck -->\n")
    assert text.endswith("</html>\n")
    assert "http://" not in text
    assert "https://" not in text


def test_no_text_becomes_markup(real: RunResult) -> None:
    assert {case.status for case in real.cases} == {"failed", "invalid"}
    read = assert_harmless(render(real, "html"))
    assert sum(kind == "text/html" for kind, _ in read.scripts) == len(real.cases)
    data = json.loads(read.scripts[-2][1])
    assert [row[1] for row in data["rows"]][: len(EVIL)] == [f"{number} {evil}" for number, evil in enumerate(EVIL)]


def test_texts_of_every_kind_are_escaped(everything: RunResult, comparison: Any, failed: Any, error: Any) -> None:
    """What results hold beside what comes of files: engines, errors, traces, prints."""
    evil = EVIL[1] + EVIL[2]
    wrong = [
        failed(np.ones(2), np.full(2, 2.0), tensor=evil, engine=evil, formula=evil, what=w, notes=(evil,), verdict=evil)
        for w in ("gradient", "formula", "check", "node")
    ]
    cases = tuple(
        replace(case, name=evil, id=evil, tags=(evil,), reproduce=evil, output={evil: evil}, reason=evil,
                comparisons=(*wrong, *case.comparisons), errors=(*case.errors, error(evil, evil, details=evil)))
        for case in everything.cases
    )  # fmt: skip
    assert_harmless(render(replace(everything, cases=cases, environment={evil: evil}), "html"))


def test_the_policy_allows_its_own_script_and_style_alone(real: RunResult) -> None:
    read = Reader(render(real, "html"))
    policy = next(str(a["content"]) for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for name, text in (("script-src", read.scripts[-1][1]), ("style-src", "".join(read.styles))):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert "unsafe" not in policy


def test_a_page_has_what_is_wrong_and_what_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "name: a product\ninputs: {a: [2.0, 1], b: [2.0, 1], c: [3.0, 2]}\n"
        "graph: {d: a + b, e: b * c, f: d * e}\nbackward: {f: [1, 1]}\nformulas:\n  b: 2 * grad(d)\n",
        encoding="utf-8",
    )
    text = render(run(file, reference="core", engines=["core"], oracle="none"), "html")
    for piece in ("<ins>", "<mo>∇</mo>", 'class="node input failed"', "<mark>2 * grad(d)</mark>"):
        assert piece in text, piece


def test_a_page_stays_below_its_bytes(failed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever cases hold: letters of three bytes, prints without an end, tensors, names of many letters."""
    monkeypatch.setattr(run_page, "MAX_FULL_BYTES", 250_000)
    monkeypatch.setattr(run_page, "MAX_BYTES", 300_000)
    wrong = failed(np.zeros((16, 12)), np.ones((16, 12)), what="formula", formula="漢 * x")
    names = [f"{'漢' * 190} {number}" for number in range(100)]
    cases = [make_case(name, "failed", comparisons=(wrong,), output={"e": "字" * 10**5}) for name in names]
    text = render(make_run(*cases), "html")
    assert 250_000 < sum(len(one) for one in text.encode().split(b"<script")[1:-1]) < 300_000
    assert len(json.loads(Reader(text).scripts[-2][1])["rows"]) == 100


def test_texts_in_backticks_are_code_and_no_markup(failed: Any) -> None:
    wrong = failed(np.zeros(2), np.ones(2), notes=(f"see `a * b` and `{EVIL[0]}`",))
    text = render(make_run(make_case("a", "failed", comparisons=(wrong,))), "html")
    assert "see <code>a * b</code> and <code>&lt;/script&gt;&lt;img" in text
    assert_harmless(text)


def test_rows_say_how_large_the_error_is(failed: Any, comparison: Any) -> None:
    claims = (failed(np.zeros(2), np.full(2, 4.0)), failed(np.zeros(2), np.ones(2), max_rel=np.inf), comparison())
    cases = [make_case(str(at), "failed", comparisons=(claim,)) for at, claim in enumerate(claims[:2])]
    cases += [make_case("2", comparisons=(claims[2],)), make_case("3", "crashed"), make_case("4", "skipped")]
    data = json.loads(Reader(render(make_run(*cases), "html")).scripts[-2][1])
    assert [row[5] for row in data["rows"]] == [1.0, "inf", 0.0, "none", None]


def test_of_very_many_cases_the_last_are_told_in_short(everything: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    many = replace(everything, cases=everything.cases * 40)
    monkeypatch.setattr(run_page, "MAX_FULL_BYTES", 60_000)
    monkeypatch.setattr(run_page, "MAX_BYTES", 100_000)
    text = render(many, "html")
    assert len(text) < 300_000
    assert "There are too many cases" in text
    assert text.index('class="badge s-failed"') < text.index('class="badge s-passed"')
