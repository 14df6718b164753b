"""The problems of one case as lines for people.

Each error and finding is shown on the reader's own line, with the numbers behind it. Then follow the output of engines,
and the smallest case that fails in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text

from gradcheck.checks.failures.mistakes import MEANINGS
from gradcheck.checks.result import CaseResult, CaseStatus, Comparison, Failure
from gradcheck.errors import Place
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports import Look
from gradcheck.reports.causes import Finding, GroupMember, case_members, place_in_case
from gradcheck.reports.excerpt import excerpt
from gradcheck.reports.palette import COUNTEREXAMPLE, FAILURE, NOTICE, SUCCESS, SUGGESTION
from gradcheck.reports.phrases import comparison_text as sentences
from gradcheck.reports.phrases import say
from gradcheck.reports.safe_text import count, format_place, plain, plain_lines, wrap
from gradcheck.reports.source_lines import (
    SourceLocation,
    locate_part,
    location_of_claim,
    relative_to_cwd,
    suggested_edit,
)
from gradcheck.reports.tensors import is_small, side_by_side, wrong_elements

#: How a case came out, in a word, with its style, and in a mark for a file that has one line.
STATUS_WORDS: dict[CaseStatus, tuple[str, str, str]] = {
    "passed": ("ok", SUCCESS, "."),
    "failed": ("FAIL", FAILURE, "F"),
    "invalid": ("INVALID", FAILURE, "I"),
    "crashed": ("CRASH", FAILURE, "C"),
    "skipped": ("skip", NOTICE, "s"),
    "xfailed": ("xfail", NOTICE, "x"),
    "xpassed": ("XPASS", FAILURE, "X"),
    "unsupported": ("n/a", NOTICE, "-"),
}
#: What an error is about, where it begins with a word.
_WORD = re.compile(r"[\w.]+")
#: How many findings of a case are shown in full, and how many more in a line each; -v shows all.
MAX_FULL_FINDINGS, MAX_BRIEF_FINDINGS = 3, 8
#: Of more errors in a file, the lines at fault are not shown.
MOST_EXCERPTS = 5
#: Tensors of more numbers, or in more lines, are shown whole with -v alone.
FEW_NUMBERS, FEW_LINES = 12, 5
#: How many wrong elements of a large tensor are listed.
FIRST_WRONG = 5
#: Lines of what an engine printed.
MAX_PRINTED_LINES = 8
#: A longer reproduction is in its file; it says nothing at a glance.
MAX_LINES = 24


def indent_text(text: str, look: Look, indent: int = 2, hanging: int | None = None, style: str = "") -> list[Text]:
    """Return the text in lines: `hanging` is by default `indent` + 2."""
    further = " " * (indent + 2 if hanging is None else hanging)
    return [Text(line, style=style) for line in wrap(text, look.width, " " * indent, further)] if text else []


def failed_case_lines(case: CaseResult, look: Look) -> list[Text]:
    """Return everything that helps to mend a case."""
    return case_lines(case, case_members(case), look)


def case_lines(case: CaseResult, members: Sequence[GroupMember], look: Look) -> list[Text]:
    """Return these problems of a case, and how to reproduce them."""
    word, style, _ = STATUS_WORDS[case.status]
    errors = [member.error for member in members if member.error is not None]
    found = [member.finding for member in members if member.finding is not None]
    name = plain(case.name or case.file)
    lines = [Text.assemble((word, style), "  ", (name, "bold")), *_errors(errors, case, look)]
    if case.status == "xpassed" or not (found or errors):
        lines += excerpt(SourceLocation(place_in_case(case, case.place)), look, sentences.status_reason(case), FAILURE)
    return [*lines, *_findings(found, case, look), *closing_lines(case, look)]


def closing_lines(case: CaseResult, look: Look) -> list[Text]:
    """Return engine output, the smallest failing case, and how to rerun it."""
    lines = _explanation_error_lines(case, look) + _engine_output_lines(case, look) + _smallest_case_lines(case, look)
    if case.reproduce and case.status != "invalid":
        is_shown = plain(case.reproduce) == case.reproduce  # escaped, it would name another file
        command = case.reproduce if is_shown else "(no command: the name has characters that are not shown)"
        lines += [Text(), Text.assemble(("  reproduce: ", "dim"), command)]
    return lines


def _errors(errors: Sequence[Failure], case: CaseResult, look: Look) -> list[Text]:
    lines: list[Text] = []
    for error in errors:
        if len(errors) <= MOST_EXCERPTS:
            lines += error_lines(error, case, look)
        else:
            place = format_place(place_in_case(case, error.place))
            lines += indent_text(f"{place}: {sentences.error_line(error)}", look)
    return lines


def error_lines(error: Failure, case: CaseResult, look: Look, headed: bool = True) -> list[Text]:
    """Return an error, and the line that it is about."""
    place = place_in_case(case, error.place)
    known = locate_part(place, None) if error.place.line else SourceLocation(place)
    if case.status == "invalid" and known.line:
        word = _WORD.match(known.line, place.column - 1)
        known = SourceLocation(place, known.line, place.column - 1, len(word[0]) if word else 1)
    elif error.text and known.line.startswith(error.text, place.column - 1):
        known = SourceLocation(place, known.line, place.column - 1, len(error.text))
    lines = indent_text(sentences.error_line(error), look, style=FAILURE) if headed else []
    lines += excerpt(known, look)
    if look.verbosity > 0:
        for engine, words in error.own_words:
            said = plain(words.removeprefix(f"{engine}: "))
            lines += indent_text(f"{plain(engine)} itself says: {said}", look, indent=4)
    if error.details and (look.verbosity > 0 or error.kind == "code_raised"):
        return lines + [Text(f"    {line}", style="dim") for line in plain_lines(error.details)]
    return lines + ([Text("    -v shows the traceback")] if error.details else [])


def _findings(found: Sequence[Finding], case: CaseResult, look: Look) -> list[Text]:
    """Return the first findings in full, more in a line each, then a count."""
    detailed = len(found) if look.verbosity > 0 else min(len(found), _full_finding_count(found))
    brief = found[detailed : detailed + MAX_BRIEF_FINDINGS]
    lines: list[Text] = []
    for number, finding in enumerate(found[:detailed]):
        lines += [*([Text()] if number else []), *finding_lines(finding, case, look)]
    if brief:
        lines.append(Text())
    for finding in brief:
        lines += indent_text(f"also: {sentences.title(finding.lead)}{_line_of(finding.lead)}", look, hanging=8)
    more = len(found) - detailed - len(brief)
    if more:
        lines.append(Text(f"  and {count(more, 'more finding')}; -v shows {'it' if more == 1 else 'them all'}"))
    return lines


def _full_finding_count(found: Sequence[Finding]) -> int:
    # a wrong value, error or rule causes what follows, which gets a line each
    kinds = [finding.lead.what for finding in found]
    if kinds and kinds[0] in (ClaimKind.VALUE, ClaimKind.RAISES):
        return 1
    return min(MAX_FULL_FINDINGS, kinds.count(ClaimKind.NODE) + 1) if ClaimKind.NODE in kinds else MAX_FULL_FINDINGS


def finding_lines(finding: Finding, case: CaseResult, look: Look, headed: bool = True) -> list[Text]:
    """Return the problem, its place and cause; numbers; consequences."""
    lead = finding.lead
    lines = indent_text(sentences.title(lead), look, style=FAILURE) if headed else []
    lines += _location_lines(lead, case, look)
    lines += indent_text(sentences.op_error_text(lead), look, indent=4, hanging=6)
    lines += indent_text(sentences.evidence_text(lead, finding.consequences), look, indent=4, hanging=6)
    for word, message in _reasons(lead, case, look):
        lines += indent_text(f"{word}: {message}", look, indent=4, hanging=6, style="bold")
    for message in sentences.counterexamples(lead, look.verbosity > 0):
        lines += indent_text(message, look, indent=4, hanging=6, style=COUNTEREXAMPLE)
    if lead.trial:
        lines += indent_text(f"at other numbers: {sentences.trial_text(lead)}", look, indent=4)
    lines += _numbers(lead, look)
    for note in lead.notes:
        lines += indent_text(f"note: {plain(say(note))}", look, indent=4, hanging=6)
    lines += _others(finding.others, look)
    if finding.consequences:
        lines += indent_text(sentences.consequences(lead, finding.consequences), look, indent=4)
    return lines


def _location_lines(lead: Comparison, case: CaseResult, look: Look) -> list[Text]:
    """Return the reader's own line and a correction, or suggestions in words."""
    found = location_of_claim(lead)
    found = SourceLocation(place_in_case(case, found.place), found.line, found.start, found.length)
    known = suggested_edit(lead)
    lines = _code(lead, look)
    if known or not lines or not _is_same_line(lead.code, found.place):
        lines += excerpt(found, look, sentences.correction(known[1]) if known else "", SUGGESTION)
    if known and known[1].text != known[0].formula and look.verbosity > 0:
        lines += indent_text(f"did you mean  {plain(known[0].formula)} ?", look, indent=4, hanging=6, style=SUGGESTION)
    for message in () if known else sentences.suggestions(lead):
        lines += indent_text(message, look, indent=4, hanging=6, style=SUGGESTION)
    return lines


def _is_same_line(code: Place | None, place: Place) -> bool:
    """Return whether the code, such as a lambda, stands at the place already."""
    if code is None:
        return False
    return (relative_to_cwd(code).file, code.line) == (relative_to_cwd(place).file, place.line)


def _code(lead: Comparison, look: Look) -> list[Text]:
    if lead.code is None:
        return []
    found = locate_part(relative_to_cwd(lead.code), None)
    start = len(found.line) - len(found.line.lstrip())
    return excerpt(SourceLocation(found.place, found.line, start, len(found.line.strip())), look) if found.line else []


def _reasons(lead: Comparison, case: CaseResult, look: Look) -> list[tuple[str, str]]:
    found = sentences.reasons(lead, look.verbosity > 0)
    if look.verbosity > 0:
        return found
    wrong = (c for c in case.comparisons if c.what is ClaimKind.FORMULA and c.consequence_of is None)
    earlier = next((c for c in wrong if c.tensor == lead.tensor or _is_alike(c, lead)), lead)
    is_known = lead.what is ClaimKind.FORMULA and earlier.tensor != lead.tensor and found
    return [("cause", f"the same mistake as in the formula of {plain(earlier.tensor)}")] if is_known else found[:2]


def _is_alike(one: Comparison, other: Comparison) -> bool:
    """Return whether two formulas are wrong for the same cause."""
    first, second = (next((d.message for d in c.diagnoses if d.kind in MEANINGS), None) for c in (one, other))
    return first is not None and first == second


def _others(others: tuple[Comparison, ...], look: Look) -> list[Text]:
    """Return a line an agreeing comparison; with -v a line of all trials."""
    lines: list[Text] = []
    for text in dict.fromkeys(sentences.headline(other) + _line_of(other) for other in others if other.trial is None):
        lines += indent_text(f"also: {text}", look, indent=4, hanging=10)
    trials = list(dict.fromkeys(str(other.trial.number) for other in others if other.trial is not None))
    if trials and look.verbosity > 0:
        *first, last = trials
        text = f"trials {', '.join(first)} and {last}" if first else f"trial {last}"
        lines += indent_text(f"also in {text}, at other numbers", look, indent=4)
    return lines


def _line_of(c: Comparison) -> str:
    return f" (line {c.place.line})" if c.place.line else ""


def _numbers(c: Comparison, look: Look) -> list[Text]:
    """Return both tensors if they are small, the worst element, the tolerance."""
    lines = _tensors(c, look)
    shown = bool(lines)
    lines = [Text(), *lines, Text()] if lines else []
    texts = [sentences.numbers_text(c, shown)]
    if look.verbosity > 0:
        texts = [
            sentences.differing_count_text(c),
            sentences.worst_element_text(c),
            sentences.tolerance_text(c),
        ]
    for text in texts:
        lines += indent_text(text, look, indent=4)
    return lines


def _tensors(c: Comparison, look: Look) -> list[Text]:
    got, want, titles = c.got_array, c.want_array, sentences.side_names(c)
    if got is None:  # only one of the two exists
        got, want, titles = want, None, titles[::-1]
    if got is None or (got.size == 1 and (want is None or got.shape == want.shape)):
        return []  # the sentence and the worst element say it all
    is_one_sided = want is None and c.what is not ClaimKind.CHECK
    if look.verbosity <= 0 and (got.size > FEW_NUMBERS or is_one_sided or not sentences.has_numbers(c)):
        return []
    if c.what is ClaimKind.CHECK and want is None:
        titles = ("where it holds", "")
    lines: list[Text] = []
    if is_small(got) and (want is None or is_small(want)):
        lines = side_by_side(got, want, c.mask, titles, look.width - 4)
    if look.verbosity <= 0 and len(lines) > FEW_LINES:
        return []
    if not lines and want is not None and c.mask is not None and c.mismatched > 1:
        lines = wrong_elements(got, want, c.mask, titles, FIRST_WRONG)
        if c.mismatched > FIRST_WRONG:
            lines.append(Text(f"and {c.mismatched - FIRST_WRONG} more"))
    return [Text.assemble("    ", line) for line in lines]


def _explanation_error_lines(case: CaseResult, look: Look) -> list[Text]:
    lines: list[Text] = []
    for error in (one for one in case.incomplete if one.details):
        lines += [Text(), *indent_text(sentences.error_line(error), look)]
        details = plain_lines(error.details) if look.verbosity > 0 else []
        lines += [Text(f"    {line}", style="dim") for line in details]
    return lines


def _engine_output_lines(case: CaseResult, look: Look) -> list[Text]:
    lines: list[Text] = []
    for engine, text in case.output.items():
        said = plain_lines(text.strip())
        hidden = 0 if look.verbosity > 0 else max(0, len(said) - MAX_PRINTED_LINES)
        lines += [Text(), *indent_text(f"{plain(engine)} printed:", look)]
        lines += [Text(f"    … {count(hidden, 'line')} before; -v shows all", style="dim")] if hidden else []
        lines += [Text(f"    {line}", style="dim") for line in said[hidden:]]
    return lines


def _smallest_case_lines(case: CaseResult, look: Look) -> list[Text]:
    """Return the smallest case that fails in the same way, to copy.

    It is shown as Python if it is short, else as a case file; with -v as both. A call in a test is shown as Python
    alone, and is not the smallest.
    """
    found = case.smallest
    if found is None:
        return []
    if not found.case:
        return [Text(), Text("  in Python:"), *_quoted(found.snippet, look)]
    size = f"{count(found.operations, 'operation')}{'' if found.complete else ', and maybe not the last word'}"
    where = f", in {plain(found.file)}" if found.file else ""
    lines = [Text(), Text(f"  smallest case that fails in the same way ({size}){where}:")]
    if look.verbosity > 0 or not (found.snippet and found.file):
        lines += _quoted(found.case, look)
    if found.snippet:
        lines += [Text("  in Python:"), *_quoted(found.snippet, look)]
    return lines


def _quoted(text: str, look: Look) -> list[Text]:
    """Return the text to copy, unwrapped; cut if it is very long."""
    lines = plain_lines(text)
    shown = lines if look.verbosity > 0 or len(lines) <= MAX_LINES else lines[: MAX_LINES - 1]
    quoted = [Text(f"    {line}") for line in shown]
    if len(shown) < len(lines):
        quoted.append(Text(f"    … {count(len(lines) - len(shown), 'line')} more; -v shows them"))
    return quoted
