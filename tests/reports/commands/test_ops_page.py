"""docs/ops.md is the table of now."""

from __future__ import annotations

from gradcheck.reports.commands.ops_page import render
from tests.paths import DOCS


def test_the_page_is_of_this_table() -> None:
    text = (DOCS / "ops.md").read_text(encoding="utf-8")
    wrong = [line for line in render().splitlines() if line not in text.splitlines()]
    assert text == render(), f"run `gradcheck ops --format markdown > docs/ops.md`; not there yet: {wrong[:5]}"


def test_what_can_be_differentiated_can_be_twice_and_forward() -> None:
    lines = [line for line in (DOCS / "ops.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    served = [line for line in lines if "complex step" in line or "differences" in line]
    assert len(served) > 450
    assert [line for line in served if "forward, order 2" not in line] == []
