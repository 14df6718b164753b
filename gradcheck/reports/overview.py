"""The causes of a run at a glance: each in a line or two."""

from __future__ import annotations

from rich.text import Text

from gradcheck.checks.result import CaseStatus, RunResult
from gradcheck.errors import Place
from gradcheck.reports import Look
from gradcheck.reports.causes import Causes, FailureGroup, GroupMember, place_in_case
from gradcheck.reports.failed_case import indent_text
from gradcheck.reports.palette import FAILURE, PLACE, SUGGESTION
from gradcheck.reports.phrases.cause_titles import engine_error_text, group_detail, group_title, member_title
from gradcheck.reports.safe_text import count, format_place, plain
from gradcheck.reports.source_lines import location_of_claim, relative_to_cwd, suggested_edit

#: The lines of a screen, and the most lines of the overview.
SCREEN, MOST_LINES = 24, 22
_ORDER: tuple[CaseStatus, ...] = ("failed", "crashed", "xpassed", "invalid")


def overview(
    result: RunResult, found: Causes, look: Look, most: int | None = MOST_LINES, noun: str = "case"
) -> list[Text]:
    """Return the causes in at most `most` lines, those with most cases first."""
    single = [member for _, members in found.cases for member in members]
    total = len(found.groups) + len(single)
    counts = [f"{result.count(status)} {status}" for status in _ORDER if result.count(status)]
    why = f", for {count(total, 'reason')}" if total > 1 else ""
    lines = [Text(f"{', '.join(counts)} of {count(len(result.cases), noun)}{why}:", style="bold"), Text()]
    entries = [group_lines(group, look, noun) for group in found.groups]
    entries += [member_lines(member, look) for member in single]
    for number, entry in enumerate(entries):
        room = len(entry) if most is None else most - len(lines) - (number + 1 < total)
        if len(entry) > room:
            entry = entry[:1] if room > 0 else []
        if not entry:
            lines.append(Text(f"  and {count(total - number, 'more cause')}, told below"))
            break
        lines += entry
    return lines


def group_lines(group: FailureGroup, look: Look, noun: str = "case") -> list[Text]:
    """Return the title, detail and place of a group."""
    lines = indent_text(f"{group_title(group)}: {count(len(group.members), noun)}", look, hanging=6, style=FAILURE)
    lines += _one_line(group_detail(group), look)
    finding = group.lead.finding
    code = finding.lead.code if finding is not None else None
    places = [format_place(relative_to_cwd(code))] if code is not None else []
    return [*lines, Text("      " + "; ".join([*places, _where(group.lead)]), style=PLACE)]


def member_lines(member: GroupMember, look: Look) -> list[Text]:
    """Return the place and title of one case's problem, and its correction."""
    text = f"{_where(member)}: {member_title(member)}"
    lines = _first_lines(indent_text(text, look, hanging=6, style=FAILURE), 2)
    lines += _one_line(engine_error_text(member), look)
    lead = member.finding.lead if member.finding is not None else None
    known = suggested_edit(lead) if lead is not None else None
    return lines + (_one_line(f"did you mean  {plain(known[0].formula)} ?", look, SUGGESTION) if known else [])


def _one_line(text: str, look: Look, style: str = "") -> list[Text]:
    return _first_lines(indent_text(text, look, indent=6, hanging=6, style=style), 1) if text else []


def _first_lines(lines: list[Text], most: int) -> list[Text]:
    """Return the first lines; the last of them shows whether there are more."""
    if len(lines) <= most:
        return lines
    *first, last = lines[:most]
    return [*first, Text(last.plain[: -1 if last.plain.endswith(" ") else None] + " …", style=last.style)]


def _where(member: GroupMember) -> str:
    return format_place(member_place(member)) or plain(member.case.name)


def member_place(member: GroupMember) -> Place:
    """Return where a case goes wrong."""
    case = member.case
    if member.finding is not None:
        return place_in_case(case, location_of_claim(member.finding.lead).place)
    return place_in_case(case, member.error.place if member.error is not None else case.place)
