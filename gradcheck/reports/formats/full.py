"""The report for people: failures by cause, then what passed."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from itertools import groupby

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.causes import Causes, FailureGroup, find_causes
from gradcheck.reports.failed_case import (
    STATUS_WORDS,
    case_lines,
    closing_lines,
    error_lines,
    finding_lines,
    indent_text,
)
from gradcheck.reports.located_messages import remark_messages
from gradcheck.reports.overview import SCREEN, group_lines, member_lines, member_place, overview
from gradcheck.reports.palette import FAILURE, NOTICE, SUCCESS
from gradcheck.reports.passed_case import claim_table, is_qualified, passed_remarks
from gradcheck.reports.phrases.cause_titles import group_title
from gradcheck.reports.phrases.comparison_text import error_line, status_reason, title
from gradcheck.reports.safe_text import count, format_place, plain, wrap
from gradcheck.reports.summary import (
    convention_lines,
    missing_features_text,
    mutation_score_lines,
    mutation_score_summary,
    slowest_lines,
    summary,
    unsupported_lines,
)

#: The most further cases of a cause; -v shows all.
OTHERS = 5
#: The most causes in full; -v shows all.
MAX_FULL_CAUSES = 20
#: The most cases of a run that get a line each.
MOST_CASES = 50
#: Columns before the name of a case, and the most columns for names.
_MARGIN, _NAME = 10, 40
MARKS = {status: mark for status, (_, _, mark) in STATUS_WORDS.items()}
#: The mark of a case that passed with a remark.
QUALIFIED_MARK = "o"


def render(result: RunResult, look: Look) -> str:
    """Return the report; causes come first if the report exceeds a screen."""
    found = find_causes(result)
    right = case_list(result, look)
    blocks = _blocks(found, look)
    lines = [*right, *([Text()] if right else [])]
    seen = len(lines) + sum(map(len, blocks[:-1])) + 1
    if blocks and (seen > SCREEN - 4 or (len(right) > SCREEN // 2)):
        lines = [*overview(result, found, look), Text(), *lines]
    for block in blocks:
        lines += [*block, Text()]
    for text in (*convention_lines(result), *unsupported_lines(result, look.verbosity > 0)):
        lines += indent_text(text, look, indent=0, style=NOTICE)
    lines += [Text(text) for text in (*slowest_lines(result, look.durations), mutation_score_summary(result)) if text]
    bad = any(case.is_failing for case in result.cases) or not result.cases or result.interrupted
    return render_lines([*lines, Text(summary(result), style=FAILURE if bad else f"bold {SUCCESS}")], look)


def render_lines(lines: list[Text], look: Look) -> str:
    """Return the lines as text; rich neither wraps nor interprets them."""
    if not look.color:
        return "".join(line.plain.rstrip() + "\n" for line in lines)
    console = Console(file=StringIO(), color_system="standard", force_terminal=True)
    pieces = []
    for line in lines:
        line.rstrip()
        line.stylize_before(line.style)  # `render` sees only the styles of parts
        for segment in line.render(console, end="\n"):
            style = segment.style
            pieces.append(style.render(segment.text, color_system=ColorSystem.STANDARD) if style else segment.text)
    return "".join(pieces)


def _blocks(found: Causes, look: Look) -> list[list[Text]]:
    """Return the first causes in full, the others in a line or two each."""
    groups, cases = found.groups, found.cases
    most = len(groups) + len(cases) if look.verbosity > 0 else MAX_FULL_CAUSES
    blocks = [_group_block(group, look) for group in groups[:most]]
    blocks += [case_lines(case, members, look) for case, members in cases[: max(0, most - len(groups))]]
    rest = [line for group in groups[most:] for line in group_lines(group, look)]
    others = cases[max(0, most - len(groups)) :]
    rest += [line for _, members in others for member in members for line in member_lines(member, look)]
    if rest:
        number = len(groups[most:]) + len(others)
        blocks.append([Text(f"{count(number, 'further cause')}; -v shows all in full:"), Text(), *rest])
    return blocks


def _group_block(group: FailureGroup, look: Look) -> list[Text]:
    """Return the clearest case in full, the others in a line each."""
    lead = group.lead
    word, style, _ = STATUS_WORDS[lead.case.status]
    text = f"{word}  {count(len(group.members), 'case')}: {group_title(group)}"
    lines = indent_text(text, look, indent=0, hanging=len(word) + 2, style=style)
    lines += indent_text(f"clearest in: {plain(lead.case.name)}", look) if lead.case.name else []
    if lead.finding is not None:
        found = lead.finding.lead
        headed = found.cause is not None and not group.ops and not found.what.is_stated_by_file
        headed = headed and title(found) != group_title(group)
        lines += finding_lines(lead.finding, lead.case, look, headed)
    elif lead.error is not None:
        lines += error_lines(lead.error, lead.case, look, headed=False)
    others = group.members[1:]
    shown = others if look.verbosity > 0 else others[:OTHERS]
    lines += [Text(), *indent_text("the same in:", look)]
    for member in shown:
        lines += indent_text(f"{format_place(member_place(member))}  {plain(member.case.name)}", look, indent=4)
    if len(shown) < len(others):
        lines.append(Text(f"    and {count(len(others) - len(shown), 'more case')}; -v shows them all"))
    known = next((member.case for member in group.members if member.case.smallest is not None), lead.case)
    return [*lines, *closing_lines(known, look)]


def case_list(result: RunResult, look: Look) -> list[Text]:
    """Return the lines of all cases by file; none with -q."""
    if look.verbosity < 0:
        return []
    lines: list[Text] = []
    brief = len(result.cases) > MOST_CASES and look.verbosity == 0
    files = [(file, list(cases)) for file, cases in groupby(result.cases, key=lambda case: case.file)]
    room = max((cell_len(plain(file)) for file, _ in files), default=0)
    for file, cases in files:
        lines += _marks(file, cases, min(room, look.width // 2), look) if brief else _cases(file, cases, look)
    if brief and lines:
        lines.append(Text(f"  ({_legend(result)}; -v has a line a case)", style="dim"))
    return lines


def _marks(file: str, cases: Sequence[CaseResult], room: int, look: Look) -> list[Text]:
    """Return `cases/matmul/chains.yaml  ..F.-`, and the remarks on its cases."""
    line = Text(plain(file).ljust(room) + "  ")
    for case in cases:
        line.append(_mark(case), STATUS_WORDS[case.status][1])
    if line.cell_len > look.width:
        line = Text.assemble(plain(file), f"  {_counted(cases)}")
    lines = [line]
    for case in cases:
        told = [remark.message for remark in remark_messages(case)] + mutation_score_lines(case)
        if told:
            lines += indent_text(f"{plain(case.name)}: {told[0]}", look, indent=4, style=NOTICE)
            for text in told[1:]:
                lines += indent_text(text, look, indent=6, style=NOTICE)
    return lines


def _mark(case: CaseResult) -> str:
    return QUALIFIED_MARK if is_qualified(case) else MARKS[case.status]


def _counted(cases: Sequence[CaseResult]) -> str:
    statuses = [case.status for case in cases]
    return ", ".join(f"{statuses.count(status)} {status}" for status in MARKS if status in statuses)


def _legend(result: RunResult) -> str:
    found = {_mark(case) for case in result.cases}
    words = {mark: status for status, mark in MARKS.items()} | {QUALIFIED_MARK: "passed with a remark"}
    ordered = sorted(words.items(), key=lambda item: item[0] != ".")
    return ", ".join(f"{mark} {word}" for mark, word in ordered if mark in found)


def _cases(file: str, cases: Sequence[CaseResult], look: Look) -> list[Text]:
    """Return the file, and a line for each case that is not described below."""
    good = [case for case in cases if not case.is_failing]
    is_full = look.verbosity > 0
    shown = [c for c in cases if is_full or not c.is_failing or mutation_score_lines(c) or remark_messages(c)]
    if not shown:
        return []
    room = min(_NAME, max((cell_len(plain(case.name)) for case in good), default=0))
    lines = [Text(plain(file), style="bold")]
    for case in shown:
        lines += _case_lines(case, room, look)
        for text in mutation_score_lines(case, look.verbosity > 0):
            lines += indent_text(text, look, indent=_MARGIN, style="dim")
        for remark in remark_messages(case):
            lines += indent_text(remark.message, look, indent=_MARGIN, style=NOTICE)
        if look.verbosity > 0:
            lines += claim_table(case, look.width)
    return lines


def _case_lines(case: CaseResult, room: int, look: Look) -> list[Text]:
    """Return `  ok      chain of four matrices  2 gradients agree`, wrapped."""
    word, style, _ = STATUS_WORDS[case.status]
    name = plain(case.name) or "(the file itself)"
    first = Text.assemble("  ", (word.ljust(7), style), " ", name)
    text = ", ".join(filter(None, passed_remarks(case) if case.status == "passed" else [_remark(case)]))
    if not text:
        return [first]
    column = _MARGIN + max(room, cell_len(name)) + 2
    head, *rest = wrap(text, look.width, " " * column)
    if len(rest) > 1:
        return [first, *(Text(line, style="dim") for line in wrap(text, look.width, " " * (_MARGIN + 2)))]
    first.append(head[cell_len(first.plain) :], "dim")
    return [first, *(Text(line, style="dim") for line in rest)]


def _remark(case: CaseResult) -> str:
    if case.is_failing and case.errors:
        return count(len(case.errors), "error")
    if case.is_failing:
        return "see below"
    return missing_features_text(case) or status_reason(case) or "; ".join(error_line(error) for error in case.errors)
