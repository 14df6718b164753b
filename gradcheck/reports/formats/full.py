"""The report for people: a line for each case that is right, and for one that is wrong all that helps to mend it."""

from __future__ import annotations

from io import StringIO
from itertools import groupby

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text

from gradcheck.checks.result import UNSETTLED, CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.failed import WORDS, failure, indented
from gradcheck.reports.findings import BAD, remarks
from gradcheck.reports.passed import achievements, table
from gradcheck.reports.phrases.comparisons import error_line, verdict
from gradcheck.reports.summary import lacking_lines, lacks, power_lines, power_summary, summary
from gradcheck.reports.text import count, plain

#: Columns before the name of a case, and the most that are kept for names before what is said of them.
_MARGIN, _NAME = 10, 40


def render(result: RunResult, look: Look) -> str:
    """The cases by file, then what is wrong with those that are, then the summary."""
    lines = _listing(result, look)
    for case in result.cases:
        if case.status in BAD:
            lines += [*failure(case, look), Text()]
    for text in lacking_lines(result):
        lines += indented(text, look, indent=0, style="yellow")
    lines += [Text(text) for text in (power_summary(result),) if text]
    return output([*lines, _summary(result)], look)


def output(lines: list[Text], look: Look) -> str:
    """The lines as they are, with colour or without; rich must neither wrap nor interpret them."""
    if not look.color:
        return "".join(line.plain.rstrip() + "\n" for line in lines)
    console = Console(file=StringIO(), color_system="standard", force_terminal=True)
    pieces = []
    for line in lines:
        line.rstrip()
        line.stylize_before(line.style)  # `render` sees the styles of parts alone
        for segment in line.render(console, end="\n"):
            style = segment.style
            pieces.append(style.render(segment.text, color_system=ColorSystem.STANDARD) if style else segment.text)
    return "".join(pieces)


def _summary(result: RunResult) -> Text:
    bad = any(case.status in BAD for case in result.cases) or not result.cases or result.interrupted
    return Text(summary(result), style="bold red" if bad else "bold green")


def _listing(result: RunResult, look: Look) -> list[Text]:
    """A line a case, below its file; none of it with -q."""
    if look.verbosity < 0:
        return []
    lines: list[Text] = []
    for file, group in groupby(result.cases, key=lambda case: case.file):
        cases = list(group)
        room = min(_NAME, max(cell_len(plain(case.name)) for case in cases))
        lines.append(Text(plain(file), style="bold"))
        for case in cases:
            lines.append(_case_line(case, room, look))
            for text in power_lines(case, look.verbosity > 0):
                lines += indented(text, look, indent=_MARGIN, style="dim")
            for remark in remarks(case):
                lines += indented(remark.message, look, indent=_MARGIN, style="yellow")
            if look.verbosity > 0:
                lines += table(case)
    return [*lines, Text()] if lines else []


def _case_line(case: CaseResult, room: int, look: Look) -> Text:
    """`  ok      chain of four matrices  2 gradients agree`, with as many remarks as there is room for."""
    word, style = WORDS[case.status]
    name = plain(case.name) or "(the file itself)"
    line = Text.assemble("  ", (word.ljust(7), style), " ", name)
    remarks = achievements(case) if case.status == "passed" else [_remark(case)]
    column = _MARGIN + max(room, cell_len(name)) + 2
    text = ""
    for remark in filter(None, remarks):
        longer = f"{text}, {remark}" if text else remark
        if text and column + cell_len(longer) > look.width:
            break
        text = longer
    if text:
        line.append(" " * (column - cell_len(line.plain)))
        line.append(text, style="dim")
    return line


def _remark(case: CaseResult) -> str:
    unsettled = sum(comparison.status in UNSETTLED for comparison in case.comparisons)
    if case.status == "failed" and unsettled:
        return f"{unsettled} of {count(len(case.comparisons), 'comparison')} failed"
    if case.status in BAD and case.errors:
        return count(len(case.errors), "error")
    return lacks(case) or verdict(case) or "; ".join(error_line(error) for error in case.errors)
