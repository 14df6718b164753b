"""A page in GitHub's Markdown; text of a case is code or escaped."""

from __future__ import annotations

import re
from html import escape

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.causes import worst_first
from gradcheck.reports.failed_case import STATUS_WORDS, failed_case_lines
from gradcheck.reports.located_messages import failure_messages, remark_messages
from gradcheck.reports.safe_text import count, plain, truncate
from gradcheck.reports.summary import slowest_lines, summary, unsupported_lines

#: The most cases in the table, and in full: GitHub rejects a summary of over a megabyte.
_LISTED, _IN_FULL = 200, 20
#: The most characters of a case in full, and of a sentence.
_MOST, _SENTENCE = 20_000, 600
#: Mentions and bare addresses, which GitHub links even where they are escaped; a comment inside parts them.
_LINKS = re.compile(r"(?<=@)(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$-])")


def render(result: RunResult, look: Look) -> str:
    """Return the page, ending in a newline."""
    bad = worst_first(result.cases)
    lines = ["<!-- a report of gradcheck -->", f"## gradcheck: {_text(summary(result))}", ""]
    if bad:
        lines += ["| | case | where | what |", "|---|---|---|---|", *map(_row, bad[:_LISTED])]
        lines += [f"| | {count(len(bad) - _LISTED, 'more case')} | | |"] if len(bad) > _LISTED else []
        lines.append("")
    told = [(case, remark) for case in result.cases for remark in remark_messages(case)]
    lines += [f"- {_code(remark.location)} {_text(f'{case.name}: {remark.message}')}" for case, remark in told]
    lines += [f"- {_text(line)}" for line in (*unsupported_lines(result), *slowest_lines(result, look.durations))]
    lines += [""] if lines[-1] else []
    for case in bad[:_IN_FULL]:
        lines += _in_full(case)
    return "\n".join(lines).rstrip("\n") + "\n"


def _row(case: CaseResult) -> str:
    first, *others = failure_messages(case)
    more = f" (and {count(len(others), 'more problem')})" if others else ""
    cells = (STATUS_WORDS[case.status][0], _text(case.name), _code(first.location), f"{_text(first.message)}{more}")
    return f"| {' | '.join(cells)} |"


def _in_full(case: CaseResult) -> list[str]:
    text = "\n".join(line.plain.rstrip() for line in failed_case_lines(case, Look(width=100)))
    text = text if len(text) <= _MOST else f"{text[:_MOST]}\n…"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    # no Markdown is parsed up to the next empty line
    shown = _LINKS.sub("<!-- -->", escape(plain(case.name or case.file)))
    return ["<details>", f"<summary>{shown}</summary>", "", f"{fence}text", text, fence, "", "</details>", ""]


def _text(text: str) -> str:
    escaped = _MARKUP.sub(r"\\\1", plain(truncate(text, _SENTENCE)))
    escaped = escaped.replace(r"\&", "&amp;").replace(r"\<", "&lt;").replace(r"\>", "&gt;")
    return _LINKS.sub("<!-- -->", escaped)


def _code(text: str) -> str:
    """Return the text as code; in a table, a bar ends a cell even in code."""
    shown = plain(text).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{fence} {shown} {fence}" if "`" in shown else f"`{shown}`" if shown else ""
