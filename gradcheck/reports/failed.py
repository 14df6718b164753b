"""What is wrong with one case, as lines for people: its errors, its findings with the numbers behind them, what engines
printed meanwhile, and the smallest case that fails in the same way."""

from __future__ import annotations

from rich.text import Text

from gradcheck.checks.result import CaseResult, CaseStatus, ClaimKind, Comparison
from gradcheck.reports import Look
from gradcheck.reports.findings import Finding, findings, locate
from gradcheck.reports.phrases import comparisons as told
from gradcheck.reports.phrases import say
from gradcheck.reports.tensors import is_small, side_by_side, wrong_elements
from gradcheck.reports.text import count, plain, plain_lines, wrap

#: How a case came out, in a word, and its style.
WORDS: dict[CaseStatus, tuple[str, str]] = {
    "passed": ("ok", "green"),
    "failed": ("FAIL", "bold red"),
    "invalid": ("INVALID", "bold red"),
    "crashed": ("CRASH", "bold red"),
    "skipped": ("skip", "yellow"),
    "xfailed": ("xfail", "yellow"),
    "xpassed": ("XPASS", "bold red"),
    "unsupported": ("unsup", "yellow"),
}
#: How many findings of a case are shown in full, and how many more in a line each; -v shows all.
IN_FULL, IN_BRIEF = 3, 8
#: How many wrong elements of a large tensor are listed.
FIRST_WRONG = 5
#: Lines of what an engine printed.
PRINTED = 8
#: A longer reproduction is in its file; it says nothing at a glance.
MAX_LINES = 24


def indented(text: str, look: Look, indent: int = 2, hanging: int | None = None, style: str = "") -> list[Text]:
    """The text in lines, the first behind `indent` blanks, the others behind `hanging`; two more, if that is None."""
    further = " " * (indent + 2 if hanging is None else hanging)
    return [Text(line, style=style) for line in wrap(text, look.width, " " * indent, further)]


def failure(case: CaseResult, look: Look) -> list[Text]:
    """All that helps to mend it."""
    word, style = WORDS[case.status]
    found = findings(case)
    lines = [Text.assemble((word, style), " ", (plain(case.id or case.file), "bold")), *_errors(case, look)]
    if case.status == "xpassed" or not (found or case.errors):
        lines += indented(told.verdict(case), look)
    lines += [*_findings(found, case, look), *_incomplete(case, look), *_printed(case, look), *_smallest(case, look)]
    if case.reproduce and case.status != "invalid":
        lines += [Text(), Text.assemble(("  reproduce: ", "dim"), plain(case.reproduce))]
    return lines


def _errors(case: CaseResult, look: Look) -> list[Text]:
    lines: list[Text] = []
    for error in case.errors:
        lines += indented(f"{plain(str(locate(case, error.place)))}: {told.error_line(error)}", look)
        if error.details and look.verbosity > 0:
            lines += [Text(f"    {line}", style="dim") for line in plain_lines(error.details)]
    if any(error.details for error in case.errors) and look.verbosity <= 0:
        lines.append(Text("  -v shows the traceback"))
    return lines


# Findings ----------------------------------------------------------------------------------------------


def _findings(found: list[Finding], case: CaseResult, look: Look) -> list[Text]:
    """The first in full, then some in a line each, then how many more there are."""
    detailed = len(found) if look.verbosity > 0 else min(len(found), _detailed(found))
    brief = found[detailed : detailed + IN_BRIEF]
    lines: list[Text] = []
    for finding in found[:detailed]:
        lines += [Text(), *_in_full(finding, case, look)]
    if brief:
        lines.append(Text())
    for finding in brief:
        lines += indented(f"also: {told.headline(finding.lead)}{_line_of(finding.lead)}", look, hanging=8)
    more = len(found) - detailed - len(brief)
    if more:
        lines.append(Text(f"  and {count(more, 'more finding')}; -v shows {'it' if more == 1 else 'them all'}"))
    return lines


def _detailed(found: list[Finding]) -> int:
    """How many to show in full: all that follows from a wrong value, error or rule is told in a line each."""
    kinds = [finding.lead.what for finding in found]
    if kinds and kinds[0] in (ClaimKind.VALUE, ClaimKind.RAISES):
        return 1
    return min(IN_FULL, kinds.count(ClaimKind.NODE) + 1) if ClaimKind.NODE in kinds else IN_FULL


def _in_full(finding: Finding, case: CaseResult, look: Look) -> list[Text]:
    lead = finding.lead
    lines = [*_what(lead, look), *_where(lead, case, look), *_numbers(lead, look)]
    for note in lead.notes:
        lines += indented(f"note: {plain(say(note))}", look, indent=4, hanging=10)
    for word, message in told.reasons(lead):
        lines += indented(f"{word}: {message}", look, indent=4, hanging=11, style="bold")
    for message in told.counterexamples(lead):
        lines += indented(message, look, indent=4, hanging=8)
    for message in told.suggestions(lead):
        lines += indented(message, look, indent=4, hanging=8, style="bold")
    lines += _others(finding.others, look)
    consequences = told.consequences(lead, finding.consequences) if finding.consequences else ""
    if consequences:
        lines += indented(consequences, look, indent=4)
    return lines


def _what(lead: Comparison, look: Look) -> list[Text]:
    """The cause, where it is one; the failure itself; who is wrong."""
    lines = indented(told.cause(lead) or told.headline(lead), look, style="red")
    if lead.cause:
        lines += indented(told.headline(lead), look, indent=4)
    if lead.verdict:
        lines += indented(plain(say(lead.verdict)), look, indent=4, style="bold")
    return lines


def _where(lead: Comparison, case: CaseResult, look: Look) -> list[Text]:
    where = locate(case, lead.place)
    lines = [Text.assemble("    at ", (plain(str(where)), "cyan"))] if where.line else []
    if lead.formula and lead.what is not ClaimKind.CHECK:
        lines += indented(f"formula: {plain(lead.formula)}", look, indent=4, hanging=13)
    if lead.trial:
        lines += indented(f"in {told.trial(lead)}", look, indent=4)
    return lines


def _others(others: tuple[Comparison, ...], look: Look) -> list[Text]:
    """What else says the same, a line each; all trials in a single line."""
    lines: list[Text] = []
    for text in dict.fromkeys(told.headline(other) + _line_of(other) for other in others if other.trial is None):
        lines += indented(f"also: {text}", look, indent=4, hanging=10)
    numbers = list(dict.fromkeys(str(other.trial.number) for other in others if other.trial is not None))
    if numbers:
        *first, last = numbers
        text = f"trials {', '.join(first)} and {last}" if first else f"trial {last}"
        lines += indented(f"also in {text}, at other numbers", look, indent=4)
    return lines


def _line_of(c: Comparison) -> str:
    return f" (line {c.place.line})" if c.place.line else ""


# Numbers -----------------------------------------------------------------------------------------------


def _numbers(c: Comparison, look: Look) -> list[Text]:
    """Both tensors where they are small, then the worst element and the tolerance."""
    lines = _tensors(c, look)
    lines = [Text(), *lines, Text()] if lines else []
    for text in filter(None, (told.worst(c), told.allowed(c))):
        lines += indented(text, look, indent=4)
    return lines


def _tensors(c: Comparison, look: Look) -> list[Text]:
    got, want = c.got_array, c.want_array
    titles = told.parties(c)
    if got is None:  # only one of the two exists
        got, want, titles = want, None, titles[::-1]
    if got is None or (got.size == 1 and (want is None or got.shape == want.shape)):
        return []  # the sentence and the worst element say it all
    if c.what is ClaimKind.CHECK and want is None:
        titles = ("where it holds", "")
    lines: list[Text] = []
    if is_small(got) and (want is None or is_small(want)):
        lines = side_by_side(got, want, c.mask, titles, look.width - 4)
    if not lines and want is not None and c.mask is not None and c.mismatched > 1:
        lines = wrong_elements(got, want, c.mask, titles, FIRST_WRONG)
        if c.mismatched > FIRST_WRONG:
            lines.append(Text(f"and {c.mismatched - FIRST_WRONG} more"))
    return [Text.assemble("    ", line) for line in lines]


# What goes with it -------------------------------------------------------------------------------------


def _incomplete(case: CaseResult, look: Look) -> list[Text]:
    """With -v, how what should have explained it failed itself; that it did is among the remarks."""
    errors = [error for error in case.incomplete if error.details] if look.verbosity > 0 else []
    lines: list[Text] = []
    for error in errors:
        lines += [Text(), *indented(told.error_line(error), look)]
        lines += [Text(f"    {line}", style="dim") for line in plain_lines(error.details)]
    return lines


def _printed(case: CaseResult, look: Look) -> list[Text]:
    """The end of what engines printed meanwhile; all of it with -v."""
    lines: list[Text] = []
    for engine, text in case.output.items():
        said = plain_lines(text.strip())
        hidden = 0 if look.verbosity > 0 else max(0, len(said) - PRINTED)
        lines += [Text(), *indented(f"{plain(engine)} printed:", look)]
        lines += [Text(f"    … {count(hidden, 'line')} before; -v shows all", style="dim")] if hidden else []
        lines += [Text(f"    {line}", style="dim") for line in said[hidden:]]
    return lines


def _smallest(case: CaseResult, look: Look) -> list[Text]:
    """The smallest case that fails in the same way, to be copied: as a case file, or as a few lines of Python."""
    found = case.smallest
    if found is None:
        return []
    size = f"{count(found.operations, 'operation')}{'' if found.complete else ', and maybe not the last word'}"
    where = f", in {plain(found.file)}" if found.file else ""
    lines = [Text(), Text(f"  smallest case that fails in the same way ({size}){where}:")]
    lines += _quoted(found.case, look)
    if found.snippet:
        lines += [Text("  and in Python:"), *_quoted(found.snippet, look)]
    return lines


def _quoted(text: str, look: Look) -> list[Text]:
    """The text as it is, since it is to be copied; cut where it is very long."""
    lines = plain_lines(text)
    shown = lines if look.verbosity > 0 or len(lines) <= MAX_LINES else lines[: MAX_LINES - 1]
    quoted = [Text(f"    {line}", style="cyan") for line in shown]
    if len(shown) < len(lines):
        quoted.append(Text(f"    … {count(len(lines) - len(shown), 'line')} more; -v shows them"))
    return quoted
