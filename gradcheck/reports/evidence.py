"""The numbers behind comparisons: small tensors in full, large ones by their worst element, passed ones in a table."""

from __future__ import annotations

from rich.text import Text

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.reports import Look
from gradcheck.reports.findings import UNSETTLED
from gradcheck.reports.tensors import Line, Span, is_small, side_by_side, wrong_elements
from gradcheck.reports.text import brief, cells, plain, wrap
from gradcheck.reports.words import allowed, parties, worst

#: How many wrong elements of a large tensor are listed.
FIRST_WRONG = 5
_STYLES = {"got": "bold red", "want": "green", "": ""}


def evidence(c: Comparison, look: Look) -> list[Text]:
    """Both tensors where they are small, then the worst element and the tolerance."""
    lines = _tensors(c, look)
    lines = [Text(), *lines, Text()] if lines else []
    for text in filter(None, (worst(c), allowed(c))):
        lines += [Text(line) for line in wrap(text, look.width, "    ", "      ")]
    return lines


def _tensors(c: Comparison, look: Look) -> list[Text]:
    got, want = c.got_array, c.want_array
    titles = parties(c)
    if got is None:  # only one of the two exists
        got, want, titles = want, None, titles[::-1]
    if got is None or (got.size == 1 and want is not None and got.shape == want.shape):
        return []  # the worst element is all there is to show
    lines: list[Line] = []
    if is_small(got) and (want is None or is_small(want)):
        lines = side_by_side(got, want, c.mask, titles, look.width - 4)
    if not lines and want is not None and c.mask is not None and c.mismatched > 1:
        lines = wrong_elements(got, want, c.mask, titles, FIRST_WRONG)
        if c.mismatched > FIRST_WRONG:
            lines.append((Span(f"and {c.mismatched - FIRST_WRONG} more"),))
    return [Text.assemble("    ", *((span.text, _STYLES[span.wrong]) for span in line)) for line in lines]


def table(case: CaseResult, look: Look) -> list[Text]:
    """Every comparison that did not fail, a line each, with the worst error; columns as wide as they need be."""
    rows = [_row(c) for c in case.comparisons if c.status not in UNSETTLED]
    if not rows:
        return []
    widths = [min(28, max(map(cells, column))) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = [text + " " * max(0, room - cells(text)) for text, room in zip(row, widths, strict=True)]
        lines.append(Text(" " * 10 + "  ".join(padded).rstrip(), style="dim"))
    return lines


def _row(c: Comparison) -> tuple[str, ...]:
    got, want = parties(c)
    size = "x".join(map(str, c.shape)) or "scalar"
    error = f"rel {brief(c.max_rel)}" if c.max_rel else "equal" if c.max_rel == 0 else ""
    if c.max_rel and c.max_ulp is not None:
        error += f", {brief(c.max_ulp)} ULP"
    remarks = [error if c.status == "passed" else c.status.replace("_", " "), plain(c.message), *map(plain, c.notes)]
    if c.trial is not None:
        remarks.append(f"trial {c.trial.get('trial')}")
    name = plain(c.formula or c.tensor) if c.what == "check" else plain(c.tensor)
    step = f", step {c.step + 1}" if c.step else ""
    what = c.what.replace("_", " ") + step
    return what, name, f"{got}/{want}", size, "; ".join(filter(None, remarks))
