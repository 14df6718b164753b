"""What is told of what a run came to."""

from __future__ import annotations

from gradcheck.checks.coverage import Coverage
from gradcheck.reports.coverage_lines import coverage_lines

FOUND = Coverage(
    ops={"add"}, rules={("add", "other")}, lines={"a.py": {3, 4}}, all_lines={"a.py": {3, 4, 5, 6, 9}, "b.py": {1}}
)


def test_counts_and_what_is_left_out() -> None:
    FOUND.lines["b.py"] = {1}
    ops, rules, arguments, lines, *left = coverage_lines(FOUND)
    assert ops.startswith("coverage: 1 of ")
    assert " ops applied; not " in ops
    assert ops.endswith("more (-v)")
    assert " rules used" in rules
    assert "coverage: 0 of " in arguments
    assert lines == "coverage: 3 of 6 (50%) lines of the engine's functions ran"
    assert left == ["  not run: a.py:5-6, 9"]


def test_all_is_listed_on_demand() -> None:
    ops, rules, *_ = coverage_lines(FOUND, everything=True)
    assert "-v" not in ops
    assert "abs(input)" in rules
    assert "add(other)" not in rules
