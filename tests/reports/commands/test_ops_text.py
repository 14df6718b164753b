"""The op table, as wide as there is room, and all about one op."""

from __future__ import annotations

import pytest

from gradcheck.autograd.families import named_families
from gradcheck.autograd.op import TABLE
from gradcheck.reports.commands.ops_text import op_details, op_families, op_table, ops_page
from tests.paths import DOCS


@pytest.mark.parametrize("room", [60, 80, 100, 200])
def test_no_line_is_wider_than_a_terminal(room: int) -> None:
    lines = op_table(room)
    assert max(map(len, lines)) <= room
    assert len(lines) == len(TABLE) + 1


def test_columns_go_where_there_is_no_room_the_doc_last() -> None:
    narrow, wide = op_table(70)[0].split(), op_table(None)[0].split()
    assert {"SIGNATURE", "DOC"} <= set(narrow)
    assert "DOMAIN" not in narrow
    assert set(narrow) < set(wide)


def test_the_families_fit_on_a_screen() -> None:
    lines = op_families(100)
    assert len(lines) <= 42
    assert all(len(line) <= 100 for line in lines)
    words = " ".join(" ".join(lines).split())
    assert all(name in words for name in named_families())


def test_a_pipe_gets_everything_uncut() -> None:
    lines = op_table(None)
    longest = max((op.signature for op in TABLE.values()), key=len)
    assert any(line.startswith(longest) for line in lines)


def test_what_is_composed_needs_no_rule_and_has_its_parts_witnesses() -> None:
    text = "\n".join(op_details(TABLE["normalize"]))
    assert "gradient rule: none needed: composed of other ops" in text
    assert "oracles:       exact, differences, forward, order 2" in text


def test_only_what_is_known_is_told() -> None:
    lines = op_details(TABLE["exp"])
    assert lines[0] == "exp(input)"
    assert not any(line.startswith("kinks:") for line in lines)
    assert any(line.endswith(".py:" + line.rpartition(":")[2]) and "autograd/ops" in line for line in lines)


def test_the_page_is_of_this_table() -> None:
    text = (DOCS / "ops.md").read_text(encoding="utf-8")
    page = ops_page()
    wrong = set(page.splitlines()) - set(text.splitlines())
    assert text == page, f"run `gradcheck ops --format markdown > docs/ops.md`; not there yet: {sorted(wrong)[:5]}"


def test_what_can_be_differentiated_can_be_twice_and_forward() -> None:
    lines = [line for line in (DOCS / "ops.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    served = [line for line in lines if "complex step" in line or "differences" in line]
    assert len(served) > 450
    assert [line for line in served if "forward, order 2" not in line] == []
