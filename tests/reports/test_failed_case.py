"""What is told of one case that is wrong, and how lines are laid out; `formats/test_full.py` shows whole reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult, CaseStatus, Diagnosis, Reproduction
from gradcheck.errors import Place
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports import Look
from gradcheck.reports.failed_case import (
    FIRST_WRONG,
    MAX_LINES,
    MAX_PRINTED_LINES,
    STATUS_WORDS,
    failed_case_lines,
    indent_text,
)

ONE, TWO = np.ones((2, 2)), np.full((2, 2), 2.0)


def told(case: CaseResult, **look: Any) -> list[str]:
    return [line.plain for line in failed_case_lines(case, Look(**look))]


def test_the_verdict_and_the_trial_stand_below_the_headline(case: Any, failed: Any) -> None:
    lines = told(case(status="failed", comparisons=(failed(ONE, TWO, verdict="core is wrong: all others agree"),)))
    assert lines[1:4] == [
        "  gradient of y: core differs from torch",
        "    cases/chain.yaml:12:3",
        "    core is wrong: all others agree",
    ]


def test_a_check_without_two_sides_shows_where_it_holds(case: Any, comparison: Any) -> None:
    holds = comparison("check", "", "failed", engine="case", formula="x > 0", mismatch="is not true",
                       got_array=np.array([True, False]), shape=(), elements=0, max_abs=None)  # fmt: skip
    lines = told(case(status="failed", comparisons=(holds,)))
    assert "  check `x > 0`: is not true" in lines
    assert [line.split() for line in lines if "holds" in line or "True" in line] == [
        ["where", "it", "holds"], ["True", "False"],
    ]  # fmt: skip


def test_code_that_stands_at_the_place_is_shown_once(case: Any, failed: Any) -> None:
    place = Place(__file__, 1, 1)
    lines = told(case(status="failed", comparisons=(failed(ONE, TWO, place=place, code=place),)))
    assert sum("test_failed_case.py:1" in line for line in lines) == 1
    other = replace(place, line=3)
    lines = told(case(status="failed", comparisons=(failed(ONE, TWO, place=other, code=place),)))
    assert sum("test_failed_case.py:" in line for line in lines) == 2


def test_of_a_large_tensor_the_first_wrong_elements_are_listed(case: Any, failed: Any) -> None:
    want = np.zeros((40, 40))
    lines = told(case(status="failed", comparisons=(failed(want + 1, want + 2),)), verbosity=1)
    assert f"    and {1600 - FIRST_WRONG} more" in lines


@pytest.mark.parametrize(("verbosity", "shown"), [(0, MAX_PRINTED_LINES), (1, MAX_PRINTED_LINES + 5)])
def test_the_end_of_what_engines_printed(case: Any, verbosity: int, shown: int) -> None:
    output = {"mine": "".join(f"line {i}\n" for i in range(MAX_PRINTED_LINES + 5))}
    lines = told(case(status="failed", output=output), verbosity=verbosity)
    assert "  mine printed:" in lines
    assert sum(line.startswith("    line ") for line in lines) == shown
    assert lines[lines.index("  mine printed:") + 1 :][0] == (
        "    … 5 lines before; -v shows all" if verbosity == 0 else "    line 0"
    )


def test_the_smallest_case_is_shown_to_be_copied(case: Any) -> None:
    found = Reproduction("graph:\n  y: x\n", 1, "x = Tensor(1)", "smallest.yaml", complete=False)
    short, long = (told(case(status="failed", smallest=found), verbosity=verbosity) for verbosity in (0, 1))
    assert long[-7:-2] == [
        "  smallest case that fails in the same way (1 operation, and maybe not the last word), in smallest.yaml:",
        "    graph:",
        "      y: x",
        "  in Python:",
        "    x = Tensor(1)",
    ]
    assert short[-5:-2] == [long[-7], "  in Python:", "    x = Tensor(1)"]
    assert "    graph:" in told(case(status="failed", smallest=replace(found, snippet="")))


def test_a_long_reproduction_is_cut(case: Any) -> None:
    found = Reproduction("\n".join(f"line {i}" for i in range(MAX_LINES + 6)), 2)
    short, long = (told(case(status="failed", smallest=found), verbosity=verbosity) for verbosity in (0, 1))
    assert "    … 7 lines more; -v shows them" in short
    assert sum(line.startswith("    line ") for line in long) == MAX_LINES + 6


def test_every_status_has_its_word() -> None:
    assert set(STATUS_WORDS) == set(get_args(CaseStatus))
    assert all(len(word) <= 7 for word, *_ in STATUS_WORDS.values())


def test_what_is_too_wide_hangs() -> None:
    assert [line.plain for line in indent_text("one two three", Look(width=9))] == ["  one two", "    three"]
    assert [line.plain for line in indent_text("one two", Look(width=9), indent=4, hanging=6)] == [
        "    one",
        "      two",
    ]


def test_a_mistake_of_several_formulas_is_told_once(case: Any, failed: Any) -> None:
    cause = Diagnosis("summed", fact("other_dim", op="sum", got="1", want="0"))
    sign = Diagnosis("sign", fact("wrong_sign"))
    one, same, other = (
        failed(ONE, TWO, what=ClaimKind.FORMULA, tensor=name, formula="x", diagnoses=(known,))
        for name, known in zip("abc", (cause, cause, sign), strict=True)
    )
    text = "\n".join(told(case(status="failed", comparisons=(one, same, other))))
    assert text.count("sum goes over dim 1, where dim 0 belongs") == 1
    assert "cause: the same mistake as in the formula of a" in text
    assert "the sign is wrong" in text
