"""The table of mistakes, and its copy in the docs."""

from __future__ import annotations

from gradcheck.checks.failures.mistakes import CODE_KINDS, DERIVATIVE_KINDS, ENGINE_KINDS, KINDS, MEANINGS
from tests.paths import ROOT


def test_a_kind_has_one_place() -> None:
    assert list(MEANINGS) == [*KINDS, *ENGINE_KINDS, *CODE_KINDS, *DERIVATIVE_KINDS]


def test_the_page_has_the_table() -> None:
    """Where this fails, `table` is what docs/diagnoses.md must have."""
    table = "".join(f"| `{kind}` | {meaning} |\n" for kind, meaning in MEANINGS.items())
    assert table in (ROOT / "docs" / "diagnoses.md").read_text(encoding="utf-8")
