"""The cookbook as a page."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.language.cookbook.cookbook_entries import Mistake
from gradcheck.reports.commands.cookbook_page import ERRATA, render
from tests.reports.commands.test_cookbook_text import ENTRY


def test_an_entry_is_typeset() -> None:
    page = render([ENTRY])
    assert page.startswith("# The cookbook\n\n1 gradients")
    assert "[powers](#powers)" in page
    assert "\n## Powers\n\n**a square**. Twice the number. *A. Uthor (1999)* (proved" in page
    assert "```math\n\\begin{aligned}\ny &= c \\odot x^{2} \\\\\nt &= c \\odot x \\\\\n\\nabla_{x} &=" in page
    assert "- not `x: x ** 2`: the power itself\n" in page
    assert "published tables" not in page


def test_what_is_printed_wrong_comes_first_with_its_numbers() -> None:
    wrong = Mistake("x", "x ** 2", "as printed", "for x = 1 the formula is 1, the gradient 2")
    page = render([ENTRY, replace(ENTRY, theme=ERRATA, wrong=(wrong,))])
    assert page.index("published tables have wrong") < page.index("## Powers")
    assert "- as printed: `x: x ** 2`; for x = 1 the formula is 1, the gradient 2\n" in page
