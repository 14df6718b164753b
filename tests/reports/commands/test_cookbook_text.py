"""What `gradcheck cookbook` prints."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.checks.derivation import explain
from gradcheck.language.cookbook.cookbook_entries import Entry, Mistake
from gradcheck.reports.commands.cookbook_text import (
    ERRATA,
    derived_lines,
    entry_lines,
    entry_list,
    proof_text,
    render_page,
    theme_lines,
)
from tests.from_text import case_of

ENTRY = Entry(
    "a square",
    "powers",
    "Twice the number.",
    "A. Uthor (1999)",
    {"x": "(n)", "c": "()"},
    ["x"],
    {"y": "c * x ** 2"},
    ["y"],
    {"x": ["2 * c * grad(y) * x"]},
    {"t": "c * x"},
    (Mistake("x", "x ** 2", "the power itself"),),
    ("x",),
)


def test_an_entry() -> None:
    assert list(entry_lines(ENTRY)) == [
        "a square",
        "  A. Uthor (1999)",
        "  Twice the number.",
        "",
        "  inputs: x (n)",
        "  constants: c ()",
        "  y = c * x ** 2",
        "",
        "gradients, grad(y) coming in",
        "  let t = c * x",
        "  x: 2 * c * grad(y) * x",
        "  (proved for all values, and at other sizes)",
        "",
        "not",
        "  x: x ** 2   # the power itself",
        "",
        "  cases/cookbook/powers.yaml::a square",
    ]


def test_others_that_fit() -> None:
    lines = list(entry_lines(ENTRY, 80, [replace(ENTRY, name="another")]))
    assert lines[-2:] == ["also", "  another  y = c * x ** 2"]


def test_how_sure_it_is() -> None:
    assert proof_text(replace(ENTRY, proved=())).startswith("not algebra")
    assert proof_text(replace(ENTRY, formulas={**ENTRY.formulas, "c": ["0"]})).startswith("proved: x;")


def test_lists() -> None:
    assert list(entry_list([ENTRY], 20)) == ["a square  y = c * x"]
    assert next(iter(theme_lines([ENTRY, ENTRY]))).split() == ["powers", "2", "entries"]


def test_what_is_derived() -> None:
    case = case_of("{dims: {n: 3}, inputs: {x: randn(n)}, graph: {y: (x ** 2).sum()}}")
    lines = list(derived_lines(explain(case), [ENTRY]))
    assert lines[0].startswith("no entry of the cookbook; derived")
    assert "  inputs: x (n)" in lines
    assert "  x: 2 * x" in lines
    assert lines[-2:] == ["entries of the same ops", "  a square  y = c * x ** 2"]


def test_an_entry_is_typeset() -> None:
    page = render_page([ENTRY])
    assert page.startswith("# The cookbook\n\n1 gradients")
    assert "[powers](#powers)" in page
    assert "\n## Powers\n\n**a square**. Twice the number. *A. Uthor (1999)* (proved" in page
    assert "```math\n\\begin{aligned}\ny &= c \\odot x^{2} \\\\\nt &= c \\odot x \\\\\n\\nabla_{x} &=" in page
    assert "- not `x: x ** 2`: the power itself\n" in page
    assert "published tables" not in page


def test_what_is_printed_wrong_comes_first_with_its_numbers() -> None:
    wrong = Mistake("x", "x ** 2", "as printed", "for x = 1 the formula is 1, the gradient 2")
    page = render_page([ENTRY, replace(ENTRY, theme=ERRATA, wrong=(wrong,))])
    assert page.index("published tables have wrong") < page.index("## Powers")
    assert "- as printed: `x: x ** 2`; for x = 1 the formula is 1, the gradient 2\n" in page
