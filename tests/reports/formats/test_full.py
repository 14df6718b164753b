"""What a person sees, in 80 columns, with colour and without."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from rich.cells import cell_len
from rich.text import Text

from gradcheck.checks.result import CaseStatus, RunResult, Trial
from gradcheck.errors import Place
from gradcheck.facts import fact
from gradcheck.reports import Look, render
from gradcheck.reports.failed_case import MAX_BRIEF_FINDINGS, MAX_FULL_FINDINGS
from gradcheck.reports.formats.full import MARKS, MOST_CASES, QUALIFIED_MARK, case_list, render_lines
from tests.reports.conftest import make_case, make_comparison, make_run

WANT = np.array([[3700.0, 9950, 8125], [3700, 9950, 8125]])
GOT = np.array([[3700.0, 12, 8125], [3700, 9950, 8125]])


def full(result: RunResult, **look: Any) -> str:
    return render(result, "full", Look(**look))


def test_a_case_that_is_right_takes_one_line(run: Any, case: Any, comparison: Any) -> None:
    right = case(comparisons=(comparison(tensor="x"), comparison(tensor="y")))
    assert full(run(right)) == (
        "cases/chain.yaml\n"
        "  ok      chain of four matrices  2 gradients agree\n"
        "\n"
        "1 passed in 4.2s\n"
    )  # fmt: skip


def test_formulas_that_hold_elsewhere_are_mentioned(everything: RunResult) -> None:
    assert "2 formulas hold at 3 other shapes" in full(everything)


def test_a_failure_in_whole(run: Any, case: Any, failed: Any) -> None:
    wrong = case(status="failed", comparisons=(
        failed(GOT, WANT),
        failed(GOT, WANT, what="expected", reference="case", place=Place("cases/chain.yaml", 20, 3)),
    ))  # fmt: skip
    assert (
        full(run(wrong))
        == """\
FAIL  chain of four matrices
  gradient of y: core differs from torch
    cases/chain.yaml:12:3

         core (* differs)         torch
    [0]  3700    *12   8125       3700   9950   8125
    [1]  3700   9950   8125       3700   9950   8125

    1 of 6 elements differs; allowed: 1e-12 + 1e-10 * |torch|
    also: gradient of y: core differs from the one expected in 1 of 6 elements
          (line 20)

  reproduce: gradcheck run 'cases/chain.yaml::chain of four matrices' --seed 0

1 failed in 4.2s
"""
    )


def test_a_large_tensor_is_described_by_its_worst_element(run: Any, case: Any, failed: Any) -> None:
    want = np.arange(1.0, 2001).reshape(50, 40)
    got = want.copy()
    got[7, 3] += 1
    wrong = run(case(status="failed", comparisons=(failed(got, want),)))
    text = full(wrong)
    assert "    1 of 2000 elements differs, at [7, 3] core 285, torch 284; allowed: " in text
    assert len(text.splitlines()) < 10
    assert "    worst at [7, 3]: core 285, torch 284 (abs 1, rel 0.00352)\n" in full(wrong, verbosity=1)


def test_of_a_large_tensor_the_first_wrong_elements_are_listed_with_v(run: Any, case: Any, failed: Any) -> None:
    want = np.arange(1.0, 2001).reshape(50, 40)
    got = want.copy()
    got[:2, 3:7] = 0
    text = full(run(case(status="failed", comparisons=(failed(got, want),))), verbosity=1)
    listing = text[text.index("            core") : text.index("    8 of 2000")]
    assert listing.splitlines() == [
        "            core  torch",
        "    [0, 3]     0      4",
        "    [0, 4]     0      5",
        "    [0, 5]     0      6",
        "    [0, 6]     0      7",
        "    [1, 3]     0     44",
        "    and 3 more",
        "",
    ]


def test_engines_that_disagree_with_the_file_alike_are_told_together(run: Any, case: Any, failed: Any) -> None:
    pair = (failed(GOT, WANT, what="expected", reference="case", engine=engine) for engine in ("torch", "core"))
    text = full(run(case(status="failed", comparisons=tuple(pair))))
    assert "  gradient of y: torch and core differ from the one expected\n" in text
    assert "also" not in text


def test_a_check_is_told_with_its_text_and_both_sides(run: Any, case: Any, failed: Any) -> None:
    check = failed(3.0, 4.0, what="check", tensor="", engine="case", formula="x.sum() == 4")
    text = full(run(case(status="failed", comparisons=(check,))))
    assert "  check `x.sum() == 4` does not hold\n" in text
    assert "    left 3, right 4; allowed: " in text


def test_a_wrong_formula_that_survived_is_named_plainly(everything: RunResult) -> None:
    text = " ".join(full(everything, verbosity=1).split())
    assert "the wrong formula of x holds wherever it was tried: it is not refuted" in text
    assert " | x * 1" in text


def test_a_formula_shows_its_text_its_trials_notes_and_causes(everything: RunResult) -> None:
    text = full(everything, verbosity=1)
    for line in (
        "    cases/chain.yaml:22:6",
        "    22 | x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])",
        "    note: 2 NaNs agree",
        "    cause: off by the constant 1",
        "    also in trial 1, at other numbers",
    ):
        assert line + "\n" in text


def test_whose_numbers_they_are_stands_before_them(run: Any, case: Any, failed: Any) -> None:
    """And not before what is said of a suggestion, of which it would seem to speak."""
    lead = failed(GOT, WANT, verdict="it is right", trial=Trial(1, 0, {}))
    text = full(run(case(status="failed", comparisons=(lead,))))
    assert "    it is right\n    at other numbers: trial 1 of seed 0\n\n         core" in text


def test_many_findings_are_shown_in_full_then_in_brief_then_counted(run: Any, case: Any, failed: Any) -> None:
    total = MAX_FULL_FINDINGS + MAX_BRIEF_FINDINGS + 2
    wrong = run(case(status="failed", comparisons=tuple(failed(GOT, WANT, tensor=f"t{i}") for i in range(total))))
    short, long = full(wrong), full(wrong, verbosity=1)
    assert short.count("1 of 6 elements differs") == MAX_FULL_FINDINGS
    assert short.count("  also: gradient of") == MAX_BRIEF_FINDINGS
    assert "  and 2 more findings; -v shows them all" in short
    assert long.count("worst at") == total


def test_what_follows_from_a_wrong_value_is_told_in_brief(run: Any, case: Any, failed: Any) -> None:
    wrong = case(status="failed", comparisons=(
        failed(GOT, WANT, what="value", tensor="h"), failed(GOT, WANT, what="value", tensor="loss"),
        failed(GOT, WANT, tensor="x"),
    ))  # fmt: skip
    text = full(run(wrong))
    assert text.index("value of h") < text.index("also: value of loss") < text.index("also: gradient of x")
    assert text.count("elements differs") == 1


def test_invalid_and_crashed_cases_show_all_their_errors(run: Any, case: Any, error: Any) -> None:
    bad = case("", "invalid", file="cases/bad.yaml", errors=(
        error("invalid", "unknown key 'reqires_grad'", Place("cases/bad.yaml", 5, 21),
                hint="did you mean 'requires_grad'?"),
        error("invalid", "no graph", Place("cases/bad.yaml", 1, 1)),
    ))  # fmt: skip
    crash = case("boom", "crashed", errors=(error("crash", "it died", details="Traceback\n  line\x1b[2J"),))
    text = full(run(bad, crash), verbosity=1)
    assert "  unknown key 'reqires_grad'; did you mean 'requires_grad'?\n    cases/bad.yaml:5:21\n" in text
    assert "  no graph\n    cases/bad.yaml:1:1\n" in text
    assert "    Traceback\n      line\\x1b[2J\n" in text
    assert text.endswith("1 crashed, 1 invalid in 4.2s\n")
    short = full(run(crash))
    assert "Traceback" not in short
    assert "    -v shows the traceback\n" in short


def test_nothing_a_user_writes_is_obeyed(run: Any, case: Any, failed: Any, diagnosed: Any) -> None:
    evil = "[red]x[/red] \x1b[31m :smile:\n::error::"
    wrong = case(evil, "failed", comparisons=(
        failed(GOT, WANT, tensor=evil, formula=evil, what="formula", engine=evil, notes=(evil,), mismatch=evil,
               diagnoses=(diagnosed("x", evil),)),
    ), reproduce=evil)  # fmt: skip
    for color in (False, True):
        for verbosity in (0, 1):
            text = full(run(wrong, case(evil, "skipped", reason=evil)), color=color, verbosity=verbosity, width=1000)
            assert "[red]x[/red] \\x1b[31m :smile:\\n::error::" in text
            assert "\x1b[31m :smile:" not in text
            assert not re.search("^ *::", text, re.MULTILINE)


def test_quiet_leaves_out_what_is_right(everything: RunResult) -> None:
    text = full(everything, verbosity=-1)
    assert "FAIL  chain of four matrices\n" in text
    assert "a sum" not in text


def test_verbose_tells_what_was_compared(run: Any, case: Any, comparison: Any) -> None:
    right = case(comparisons=(
        comparison(tensor="x", max_rel=2.2e-16, max_ulp=1.0),
        comparison(tensor="long_name", step=1, shape=(), max_rel=None, notes=("none agrees with all zeros",)),
        comparison("check", "", engine="case", formula="x.sum() == y", status="not_differentiable"),
        *(comparison("formula", "x", engine="case", formula="y", max_rel=error, max_ulp=None, trial=trial)
          for error, trial in ((0.0, None), (1e-15, Trial(1, 0, {})), (1e-16, Trial(2, 0, {})))),
        comparison("wrong_formula", "x", engine="case", max_rel=0.4, mismatch="refuted: 2 of 6 elements differ"),
    ))  # fmt: skip
    text = full(run(right), verbosity=1)
    lines = text[text.index("          gradient") :].splitlines()[:5]
    assert [" ".join(line.split()) for line in lines] == [
        "gradient x core/torch 2x3 rel 2.2e-16, 1 ULP",
        "gradient, step 2 long_name core/torch scalar agrees; none agrees with all zeros",
        "check x.sum() == y left/right not differentiable",
        "formula x formula/torch 2x3 rel 1e-15, also in 2 trials",
        "wrong formula x formula/torch 2x3 refuted: 2 of 6 elements differ",
    ]


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_eighty_columns_are_enough(everything: RunResult, verbosity: int) -> None:
    text = full(everything, verbosity=verbosity)
    too_wide = [line for line in text.splitlines() if cell_len(line) > 80 and "reproduce" not in line]
    assert [line for line in too_wide if not line.startswith(("1 failed", "          "))] == []


def test_colour_changes_nothing_but_colour(everything: RunResult) -> None:
    colored = full(everything, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == full(everything)


def test_colours_are_seen_on_dark_and_on_light(everything: RunResult) -> None:
    """Bold, dim, red, green and magenta: yellow, blue, cyan, white and black are lost on one of the two."""
    found = re.findall(r"\x1b\[([0-9;]*)m", full(everything, color=True))
    codes = {code for one in found for code in one.split(";")}
    assert codes <= {"0", "1", "2", "31", "32", "35"}
    assert {"31", "32", "35"} <= codes


def test_long_and_wide_names_stay_whole(run: Any, case: Any) -> None:
    name = "梯度的链式法则与矩阵乘法" * 5
    assert f"  ok      {name}\n" in full(run(case(name)))


def test_no_cases_and_interruption_are_said(run: Any) -> None:
    assert full(run(seconds=0.5)) == "no cases in 0.50s\n"
    assert full(run(seconds=200.0, interrupted=True)) == "interrupted: no cases in 3m 20s\n"


def test_a_case_in_which_nothing_was_compared_says_so(run: Any, case: Any) -> None:
    text = full(run(case(status="failed")))
    assert "FAIL  chain of four matrices\n    cases/chain.yaml:1:1\n    no gradient was compared\n" in text


def test_what_is_undecided_is_not_called_wrong(run: Any, case: Any, comparison: Any) -> None:
    text = full(run(case(status="failed", comparisons=(comparison(status="undecided", mismatch="too much noise"),))))
    assert "undecided: gradient of y: too much noise (core against torch)" in text


def test_what_follows_from_a_wrong_rule_is_told_in_brief(run: Any, case: Any, failed: Any) -> None:
    rule = failed(GOT, WANT, what="node", tensor="k", mismatch="the gradient of mul's tensor 1")
    names = ("x", "w", "h")
    wrong = case(status="failed", comparisons=(*(failed(GOT, WANT, tensor=name) for name in names), rule, rule))
    text = full(run(wrong), width=120)
    assert text.count("1 of 6 elements differs") == 2
    assert "  gradient rule in k: the gradient of mul's tensor 1; core differs from torch in 1 of 6 elements\n" in text
    assert text.count("gradient rule in k") == 1
    assert text.index("gradient rule in k") < text.index("  gradient of h") < text.index("also: gradient of w")


def test_the_cause_leads_and_its_consequences_are_a_line(run: Any, case: Any, failed: Any, diagnosed: Any) -> None:
    cause = ("matmul at r", "gradient of its second argument is wrong; all 7 other operations are right")
    diagnoses = (diagnosed("sign", "the sign is wrong"), diagnosed("swapped", "swapped"))
    text = full(run(case("chain", "failed", comparisons=(
        failed(GOT, WANT, tensor="x", consequence_of="matmul at r"),
        failed(GOT, WANT, tensor="y", consequence_of="matmul at r"),
        failed(GOT, WANT, what="expected", tensor="y", reference="case", consequence_of="matmul at r"),
        failed(GOT, WANT, what="node", tensor="q", consequence_of="matmul at r"),
        failed(GOT, WANT, what="node", tensor="r", cause=cause, diagnoses=diagnoses),
    ))), width=120)  # fmt: skip
    lines = text.splitlines()
    assert lines[:2] == ["FAIL  chain", f"  {': '.join(cause)}"]
    start = lines.index("    cause: the sign is wrong")
    assert lines[start + 1] == "    or: swapped"
    assert "    wrong only because of this: the same rule at q; the gradient of y and x" in lines
    assert "gradient of x" not in text


def test_many_consequences_are_counted(run: Any, case: Any, failed: Any) -> None:
    text = full(run(case("chain", "failed", comparisons=(
        *(failed(GOT, WANT, tensor=f"x{i}", consequence_of="h") for i in range(20)),
        failed(GOT, WANT, what="value", tensor="h", cause=("h", "its value is wrong")),
        failed(GOT, WANT, what="value", tensor="k", consequence_of="h"),
    ))), width=150)  # fmt: skip
    assert "because of this: the value of k; the gradient of x19, x18, x17, x16, x15, x14, x13, x12 and 12 more" in text


def test_output_keeps_lines_as_they_are() -> None:
    lines = [Text("[bold]x[/bold]  "), Text("y" * 200, style="red")]
    assert render_lines(lines, Look(width=40)) == "[bold]x[/bold]\n" + "y" * 200 + "\n"
    colored = render_lines(lines, Look(color=True, width=40))
    assert colored == "[bold]x[/bold]\n\x1b[31m" + "y" * 200 + "\x1b[0m\n"


def lines(*cases: Any, **look: Any) -> list[str]:
    return [line.plain for line in case_list(make_run(*cases), Look(**look))]


def test_what_failed_is_told_elsewhere() -> None:
    assert lines(make_case("a", "failed"), make_case("b", comparisons=(make_comparison(),))) == [
        "cases/chain.yaml",
        "  ok      b  1 gradient agrees",
    ]
    assert lines(make_case("a", "failed")) == []


def test_beyond_fifty_cases_a_file_has_a_line() -> None:
    many = [make_case(f"c{i}", file=f"f{i // 20}.yaml") for i in range(MOST_CASES + 1)]
    many[3], many[45] = make_case("c3", "failed", file="f0.yaml"), make_case("c45", "skipped", file="f2.yaml")
    assert lines(*many) == [
        "f0.yaml  ...F................",
        "f1.yaml  ....................",
        "f2.yaml  .....s.....",
        "  (. passed, F failed, s skipped; -v has a line a case)",
    ]
    assert len(lines(*many, verbosity=1)) > MOST_CASES
    assert lines(*many, verbosity=-1) == []


def test_a_file_of_very_many_cases_has_its_counts() -> None:
    many = [make_case(f"c{i}", "failed" if i < 3 else "passed") for i in range(200)]
    assert lines(*many)[0] == "cases/chain.yaml  197 passed, 3 failed"


def test_a_remark_is_never_dropped() -> None:
    """However narrow the terminal is."""
    notes = (fact("size_stays", size="n", value=4, tensor="t"), fact("branch_not_visited", where="x > 6"))
    formula = replace(make_comparison("formula", "x", engine="case", formula="y"), notes=notes)
    case = make_case("a name that takes some room", comparisons=(formula, make_comparison()))
    wanted = "1 formula holds; n stays 4: t is written out; not decided for x > 6, 1 gradient agrees"
    for width in (40, 60, 80, 200):
        found = lines(case, width=width)
        assert wanted in " ".join(" ".join(found).split())
        assert all(len(line) <= width for line in found)
    many = [replace(case, name=f"c{i}") for i in range(MOST_CASES + 1)]
    assert lines(*many)[0].endswith(QUALIFIED_MARK * 5) or "passed" in lines(*many)[0]


def test_every_status_has_a_mark_of_its_own() -> None:
    assert set(MARKS) == set(get_args(CaseStatus))
    assert len({*MARKS.values(), QUALIFIED_MARK}) == len(MARKS) + 1
