"""The report for people: failures by cause, then what passed."""

from __future__ import annotations

from io import StringIO

from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text

from gradcheck.checks.result import RunResult
from gradcheck.reports import Look
from gradcheck.reports.case_list import case_list
from gradcheck.reports.causes import Causes, FailureGroup, find_causes
from gradcheck.reports.failed_case import (
    STATUS_WORDS,
    case_lines,
    closing_lines,
    error_lines,
    finding_lines,
    indent_text,
)
from gradcheck.reports.overview import SCREEN, group_lines, member_lines, member_place, overview
from gradcheck.reports.palette import FAILURE, NOTICE, SUCCESS
from gradcheck.reports.phrases.cause_titles import group_title
from gradcheck.reports.phrases.comparison_text import title
from gradcheck.reports.safe_text import count, format_place, plain
from gradcheck.reports.summary import (
    convention_lines,
    mutation_score_summary,
    slowest_lines,
    summary,
    unsupported_lines,
)

#: The most further cases of a cause; -v shows all.
OTHERS = 5
#: The most causes in full; -v shows all.
MAX_FULL_CAUSES = 20


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
    return render_lines([*lines, _summary(result)], look)


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


def _summary(result: RunResult) -> Text:
    bad = any(case.is_failing for case in result.cases) or not result.cases or result.interrupted
    return Text(summary(result), style=FAILURE if bad else f"bold {SUCCESS}")


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
    word, style = STATUS_WORDS[lead.case.status]
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
