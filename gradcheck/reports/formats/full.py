"""The report for people: a line for each case that is right, and for one that is wrong all that helps to mend it."""

from __future__ import annotations

from io import StringIO
from itertools import groupby

from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text

from gradcheck.checks.result import UNSETTLED, CaseResult, CaseStatus, ClaimKind, Comparison, RunResult
from gradcheck.reports import Look
from gradcheck.reports.achievements import achievements
from gradcheck.reports.comparison import evidence, table
from gradcheck.reports.grouping import Finding, findings
from gradcheck.reports.lacking import lacking_lines, lacks
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparisons import (
    cause,
    consequences,
    counterexamples,
    error_line,
    headline,
    reasons,
    suggestions,
    trial,
    verdict,
)
from gradcheck.reports.power import power_lines, power_summary
from gradcheck.reports.problems import BAD, locate
from gradcheck.reports.smallest import smallest
from gradcheck.reports.summary import summary
from gradcheck.reports.text import cells, count, plain, plain_lines, wrap

#: How many findings of a case are shown in full, and how many more in a line each; -v shows all.
IN_FULL, IN_BRIEF = 3, 8
#: Lines of what an engine printed.
PRINTED = 8

_WORDS: dict[CaseStatus, tuple[str, str]] = {
    "passed": ("ok", "green"),
    "failed": ("FAIL", "bold red"),
    "invalid": ("INVALID", "bold red"),
    "crashed": ("CRASH", "bold red"),
    "skipped": ("skip", "yellow"),
    "xfailed": ("xfail", "yellow"),
    "xpassed": ("XPASS", "bold red"),
    "unsupported": ("unsup", "yellow"),
}


def render(result: RunResult, look: Look) -> str:
    """The cases by file, then what is wrong with those that are, then the summary."""
    lines = [*_listing(result, look), *_failures(result, look), *_lacking(result, look)]
    lines += [*map(Text, filter(None, [power_summary(result)])), _summary(result)]
    return _output(lines, look)


def details(case: CaseResult, look: Look) -> list[str]:
    """What is wrong with one case, as plain lines."""
    return [line.plain for line in _failure(case, look)]


def _output(lines: list[Text], look: Look) -> str:
    """The lines as they are, with colour or without; rich must neither wrap nor interpret them."""
    if not look.color:
        return "".join(line.plain.rstrip() + "\n" for line in lines)
    console = Console(file=StringIO(), color_system="standard", force_terminal=True)
    pieces = []
    for line in lines:
        line.rstrip()
        for segment in line.render(console, end="\n"):
            style = segment.style
            pieces.append(style.render(segment.text, color_system=ColorSystem.STANDARD) if style else segment.text)
    return "".join(pieces)


def _lacking(result: RunResult, look: Look) -> list[Text]:
    """What engines could not express, once."""
    return [line for text in lacking_lines(result) for line in _indented(text, look, indent=0, style="yellow")]


def _printed(case: CaseResult, look: Look) -> list[Text]:
    """The end of what engines printed meanwhile; all of it with -v."""
    lines: list[Text] = []
    for engine, text in case.output.items():
        said = plain_lines(text.strip())
        hidden = 0 if look.verbosity > 0 else max(0, len(said) - PRINTED)
        lines += [Text(), *_indented(f"{plain(engine)} printed:", look)]
        lines += [Text(f"    … {count(hidden, 'line')} before; -v shows all", style="dim")] if hidden else []
        lines += [Text(f"    {line}", style="dim") for line in said[hidden:]]
    return lines


def _summary(result: RunResult) -> Text:
    bad = any(case.status in BAD for case in result.cases) or not result.cases or result.interrupted
    return Text(summary(result), style="bold red" if bad else "bold green")


def _listing(result: RunResult, look: Look) -> list[Text]:
    lines: list[Text] = []
    for file, group in groupby(result.cases, key=lambda case: case.file):
        cases = [case for case in group if look.verbosity >= 0 or case.status in BAD]
        if look.verbosity < 0 or not cases:
            continue
        room = min(40, max(cells(plain(case.name)) for case in cases))
        lines.append(Text(plain(file), style="bold"))
        for case in cases:
            lines.append(_case_line(case, room, look))
            for text in power_lines(case, look.verbosity > 0):
                lines += _indented(text, look, indent=10, style="dim")
            if look.verbosity > 0:
                lines += table(case, look)
    return [*lines, Text()] if lines else []


def _case_line(case: CaseResult, room: int, look: Look) -> Text:
    word, style = _WORDS[case.status]
    name = plain(case.name) or "(the file itself)"
    line = Text.assemble("  ", (word.ljust(7), style), " ", name)
    remarks = achievements(case) if case.status == "passed" else [_remark(case)]
    column = 10 + max(room, cells(name)) + 2
    text = ""
    for remark in filter(None, remarks):
        longer = f"{text}, {remark}" if text else remark
        if text and column + cells(longer) > look.width:
            break
        text = longer
    if text:
        line.append(" " * (column - cells(line.plain)))
        line.append(text, style="dim")
    return line


def _remark(case: CaseResult) -> str:
    unsettled = sum(comparison.status in UNSETTLED for comparison in case.comparisons)
    if case.status == "failed" and unsettled:
        return f"{unsettled} of {count(len(case.comparisons), 'comparison')} failed"
    if case.status in BAD and case.errors:
        return count(len(case.errors), "error")
    return verdict(case) or lacks(case) or "; ".join(error_line(error) for error in case.errors)


def _failures(result: RunResult, look: Look) -> list[Text]:
    lines: list[Text] = []
    for case in result.cases:
        if case.status in BAD:
            lines += [*_failure(case, look), Text()]
    return lines


def _failure(case: CaseResult, look: Look) -> list[Text]:
    word, style = _WORDS[case.status]
    lines = [Text.assemble((word, style), " ", (plain(case.id or case.file), "bold"))]
    for error in case.errors:
        lines += _indented(f"{plain(str(locate(case, error.place)))}: {error_line(error)}", look)
        if error.details and look.verbosity > 0:
            lines += [Text(f"    {line}", style="dim") for line in plain_lines(error.details)]
    if any(error.details for error in case.errors) and look.verbosity <= 0:
        lines.append(Text("  -v shows the traceback"))
    found = findings(case)
    if case.status == "xpassed" or not (found or case.errors):
        lines += _indented(verdict(case), look)
    lines += _findings(found, case, look)
    lines += _printed(case, look)
    lines += smallest(case, look)
    if case.reproduce and case.status != "invalid":
        lines += [Text(), Text.assemble(("  reproduce: ", "dim"), plain(case.reproduce))]
    return lines


def _findings(found: list[Finding], case: CaseResult, look: Look) -> list[Text]:
    lines: list[Text] = []
    detailed = _detailed(found)
    everything = look.verbosity > 0
    for index, finding in enumerate(found):
        if everything or index < detailed:
            lines += [Text(), *_in_full(finding, case, look)]
            continue
        if index == detailed:
            lines.append(Text())
        if index >= detailed + IN_BRIEF:
            more = len(found) - index
            lines.append(Text(f"  and {count(more, 'more finding')}; -v shows {'it' if more == 1 else 'them all'}"))
            break
        lines += _indented(f"also: {headline(finding.lead)}{_line_of(finding.lead)}", look, hanging=8)
    return lines


def _detailed(found: list[Finding]) -> int:
    """How many to show in full: all that follows from a wrong value, error or rule is told in a line each."""
    kinds = [finding.lead.what for finding in found]
    if kinds and kinds[0] in (ClaimKind.VALUE, ClaimKind.RAISES):
        return 1
    return min(IN_FULL, kinds.count(ClaimKind.NODE) + 1) if ClaimKind.NODE in kinds else IN_FULL


def _in_full(finding: Finding, case: CaseResult, look: Look) -> list[Text]:
    lead = finding.lead
    lines = _indented(cause(lead) or headline(lead), look, style="red")
    if lead.cause:
        lines += _indented(headline(lead), look, indent=4)
    if lead.verdict:
        lines += _indented(plain(say(lead.verdict)), look, indent=4, style="bold")
    where = locate(case, lead.place)
    if where.line:
        lines.append(Text.assemble("    at ", (plain(str(where)), "cyan")))
    if lead.formula and lead.what != "check":
        lines += _indented(f"formula: {plain(lead.formula)}", look, indent=4, hanging=13)
    if trial(lead):
        lines += _indented(f"in {trial(lead)}", look, indent=4)
    lines += evidence(lead, look)
    for note in lead.notes:
        lines += _indented(f"note: {plain(say(note))}", look, indent=4, hanging=10)
    for word, message in reasons(lead):
        lines += _indented(f"{word}: {message}", look, indent=4, hanging=11, style="bold")
    for message in counterexamples(lead):
        lines += _indented(message, look, indent=4, hanging=8)
    for message in suggestions(lead):
        lines += _indented(message, look, indent=4, hanging=8, style="bold")
    lines += _others(finding.others, look)
    if finding.consequences:
        lines += _indented(consequences(lead, finding.consequences), look, indent=4)
    return lines


def _others(others: tuple[Comparison, ...], look: Look) -> list[Text]:
    """What else says the same, a line each; all trials in a single line."""
    lines: list[Text] = []
    for text in dict.fromkeys(headline(other) + _line_of(other) for other in others if other.trial is None):
        lines += _indented(f"also: {text}", look, indent=4, hanging=10)
    numbers = list(dict.fromkeys(str(other.trial.number) for other in others if other.trial is not None))
    if numbers:
        *first, last = numbers
        text = f"trials {', '.join(first)} and {last}" if first else f"trial {last}"
        lines += _indented(f"also in {text}, at other numbers", look, indent=4)
    return lines


def _line_of(c: Comparison) -> str:
    return f" (line {c.place.line})" if c.place.line else ""


def _indented(text: str, look: Look, indent: int = 2, hanging: int | None = None, style: str = "") -> list[Text]:
    further = " " * (indent + 2 if hanging is None else hanging)
    return [Text(line, style=style) for line in wrap(text, look.width, " " * indent, further)]
