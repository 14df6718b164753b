"""A page for people: nothing that a case says is markup, and nothing is too long."""

from __future__ import annotations

import re
from typing import Any

from markdown_it import MarkdownIt

from gradcheck.checks.result import RunResult
from gradcheck.reports import Look, render
from gradcheck.reports.summary import summary


def html(result: RunResult) -> str:
    return MarkdownIt("commonmark").enable("table").render(render(result, "markdown"))


def test_the_summary_a_table_and_every_failure(everything: RunResult) -> None:
    text, page = render(everything, "markdown"), html(everything)
    assert summary(everything) in page
    words = re.findall(r"<tr>\n<td>(\w+)</td>", page)
    assert words == ["CRASH", "INVALID", "FAIL", "XPASS"]
    assert text.count("<details>") == text.count("</details>") == 4
    assert "reproduce: gradcheck run" in page


def test_where_all_is_well_there_is_no_table(run: Any, case: Any) -> None:
    found = run(case("one"), case("two"))
    assert render(found, "markdown").splitlines() == [
        "<!-- a report of gradcheck -->",
        "## gradcheck: 2 passed in 4.2s",
    ]


def test_names_are_no_markup(run: Any, case: Any, error: Any) -> None:
    name = "a|b `c` <script>alert(1)</script> [x](y) ``` **d**"
    found = run(case(name, "crashed", file="a`|b.yaml", errors=(error("crash", "```\n</details> # e"),)))
    page = html(found)
    assert "<script>" not in page
    assert "<strong>" not in page
    assert "<a " not in page
    assert page.count("</details>") == 1
    assert len(re.findall("<td>", page)) == 4


def test_very_many_failures_are_cut(run: Any, case: Any, error: Any) -> None:
    crash = (error("crash", "boom " * 9_000),)
    found = run(*[case(f"c{n}", "crashed", errors=crash) for n in range(300)])
    text = render(found, "markdown", Look())
    assert text.count("<details>") == 20
    assert "| | 100 more cases | | |" in text
    assert len(text.encode()) < 1_048_576


def test_names_mention_nobody_and_link_nowhere(run: Any, case: Any, error: Any) -> None:
    """GitHub links mentions and addresses in the text that it shows, even where they were escaped."""
    name = "@everyone a@b.c https://a.example www.a.example"
    page = render(run(case(name, "crashed", errors=(error("crash", name),))), "markdown", Look())
    shown = re.sub(r"```+text.*?```+", "", page, flags=re.DOTALL)
    assert "everyone" in shown
    assert not re.search(r"@\w|://|www\.|www\\\.", shown)
