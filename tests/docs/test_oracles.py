"""The cases of `docs/oracles.md` pass as the page says."""

from __future__ import annotations

from gradcheck import run
from tests.documents import blocks
from tests.from_text import case_of
from tests.paths import DOCS


def test_the_cases_shown_pass() -> None:
    shared, relu = (run([case_of(text)]).cases[0] for text in blocks(DOCS / "oracles.md", "yaml"))
    assert [shared.status, relu.status] == ["passed", "passed"]
    (own,) = [c for c in shared.comparisons if c.what == "formula" and c.trial is None]
    assert own.certificate is not None


def test_the_formula_without_shares_fails_at_drawn_ties() -> None:
    text = blocks(DOCS / "oracles.md", "yaml")[0]
    before, _, formulas = text.partition("formulas:")
    alone = f"{before}formulas:{formulas.partition('wrong_formulas:')[2]}"
    assert run([case_of(alone)]).cases[0].status == "failed"
