"""The numbers behind comparisons: small tensors in full, large ones by their worst element, passed ones in a table."""

from __future__ import annotations

from rich.text import Text

from gradcheck.checks.result import UNSETTLED, CaseResult, Comparison
from gradcheck.reports import Look
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparisons import allowed, parties, worst
from gradcheck.reports.tensors import Line, Span, is_small, side_by_side, wrong_elements
from gradcheck.reports.text import brief, cells, count, plain, wrap

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
    if got is None or (got.size == 1 and (want is None or got.shape == want.shape)):
        return []  # the sentence and the worst element say it all
    if c.what == "check" and want is None:
        titles = ("where it holds", "")
    lines: list[Line] = []
    if is_small(got) and (want is None or is_small(want)):
        lines = side_by_side(got, want, c.mask, titles, look.width - 4)
    if not lines and want is not None and c.mask is not None and c.mismatched > 1:
        lines = wrong_elements(got, want, c.mask, titles, FIRST_WRONG)
        if c.mismatched > FIRST_WRONG:
            lines.append((Span(f"and {c.mismatched - FIRST_WRONG} more"),))
    return [Text.assemble("    ", *((span.text, _STYLES[span.wrong]) for span in line)) for line in lines]


def table(case: CaseResult, look: Look) -> list[Text]:
    """Every claim that did not fail, a line each, its trials included; columns as wide as they need be."""
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    for c in case.comparisons:
        if c.status not in UNSETTLED:
            groups.setdefault((c.what, c.tensor, c.step, c.engine, c.reference, c.formula, c.status), []).append(c)
    rows = [_row(group) for group in groups.values()]
    if not rows:
        return []
    widths = [min(28, max(map(cells, column))) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = [text + " " * max(0, room - cells(text)) for text, room in zip(row, widths, strict=True)]
        lines.append(Text(" " * 10 + "  ".join(padded).rstrip(), style="dim"))
    return lines


def _row(group: list[Comparison]) -> tuple[str, ...]:
    """What, of which tensor, between whom, of what size, and how it went at worst."""
    first = group[0]
    what = first.what.replace("_", " ") + (f", step {first.step + 1}" if first.step else "")
    name = plain(first.formula or first.tensor) if first.what == "check" else plain(first.tensor)
    size = "" if first.what in ("node", "raises", "check") else "x".join(map(str, first.shape)) or "scalar"
    trials = sum(c.trial is not None for c in group)
    outcome = _outcome(group)
    if trials:
        outcome += f"{', also' if trials < len(group) else ''} in {count(trials, 'trial')}"
    remarks = [outcome, _proof(first), say(first.verdict) or say(first.mismatch), *map(say, first.notes)]
    return what, name, "/".join(parties(first)), size, plain("; ".join(filter(None, remarks)))


def _proof(c: Comparison) -> str:
    """The certificate, in words: `proved at 4 sizes (exact, 12 trials, degree 6, p < 1.3e-26)`."""
    if c.certificate is None:
        return ""
    known = c.certificate
    bound = (
        f"{known['method']}, {count(known['trials'], 'trial')}, degree {known['degree']}, p < {brief(known['bound'])}"
    )
    unknowns = f", for any {', '.join(map(plain, known['unknowns']))}" if known["unknowns"] else ""
    return f"proved at {count(len(known['sizes']), 'size')} ({bound}{unknowns})"


def _outcome(group: list[Comparison]) -> str:
    """The worst relative error where it is known; otherwise that it stayed within the tolerance."""
    if group[0].what == "wrong_formula":
        return ""
    if group[0].status != "passed":
        return group[0].status.replace("_", " ")
    worst = max(group, key=lambda c: c.max_rel or 0.0)
    if not worst.max_rel:
        return "agrees"
    return f"rel {brief(worst.max_rel)}" + ("" if worst.max_ulp is None else f", {brief(worst.max_ulp)} ULP")
