"""The smallest case that fails in the same way, to be copied: as a case file, or as a few lines of Python."""

from __future__ import annotations

from rich.text import Text

from gradcheck.checks.result import CaseResult
from gradcheck.reports import Look
from gradcheck.reports.text import count, plain, plain_lines

#: A longer reproduction is in its file; it says nothing at a glance.
MAX_LINES = 24


def smallest(case: CaseResult, look: Look) -> list[Text]:
    """Nothing where none was found."""
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
