"""The contents of one problem on a page: line, cause, formulas, tensors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.errors import Place
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.causes import Finding, GroupMember, place_in_case
from gradcheck.reports.page.heat_map import HeatMap, draw_heat_map
from gradcheck.reports.page.mathml import formula_to_mathml
from gradcheck.reports.phrases import comparison_text as sentences
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.phrase_table import join_names
from gradcheck.reports.safe_text import count, format_place, plain, plain_lines, truncate
from gradcheck.reports.source_lines import (
    SourceLocation,
    locate_part,
    location_of_claim,
    relative_to_cwd,
    suggested_edit,
)

#: The most further tensors of a finding; characters of a line; characters of engine output.
MOST_TENSORS, MOST_IN_A_LINE, MOST_PRINTED = 8, 240, 20_000
#: A part of IPython's file names for cells.
_IN_A_CELL = "ipykernel_"
#: Claims whose text is a formula.
FORMULA_CLAIMS = tuple(kind for kind in ClaimKind if kind.is_general)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file in three parts; the middle one is marked."""

    number: int
    before: str
    marked: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A correction of the text `key`: before, the old, the new, after."""

    key: str
    before: str
    old: str
    new: str
    after: str

    @property
    def text(self) -> str:
        """The corrected text."""
        return f"{self.before}{self.new}{self.after}"


@dataclass(frozen=True, slots=True)
class FailureView:
    """One problem of a case."""

    title: str
    where: str = ""
    line: SourceLine | None = None
    code: tuple[str, SourceLine] | None = None  # where the engine's own function begins
    evidence: str = ""
    reasons: tuple[tuple[str, str], ...] = ()
    change: Change | None = None
    suggestions: tuple[str, ...] = ()
    formulas: tuple[tuple[str, str], ...] = ()  # a title, and MathML
    counterexamples: tuple[str, ...] = ()
    heat: HeatMap | None = None
    notes: tuple[str, ...] = ()
    same_failures: tuple[str, ...] = ()
    related_tensors: tuple[tuple[str, HeatMap], ...] = ()  # other wrong tensors: title, picture
    details: str = ""

    @property
    def text(self) -> str:
        """The problem and its cause, as text to copy."""
        reasons = (f"{word}: {text}" for word, text in self.reasons)
        lines = (self.title, self.where, self.evidence, *reasons, *self.counterexamples, *self.suggestions)
        meant = f"did you mean  {self.change.text} ?" if self.change is not None else ""
        return "\n".join(filter(None, (*lines, meant, *self.notes, *self.same_failures)))


def failure_view(member: GroupMember) -> FailureView:
    """Return the view of a member that has a finding or an error."""
    if member.finding is not None:
        return _finding_view(member.finding, member.case)
    assert member.error is not None
    place = place_in_case(member.case, member.error.place)
    found = locate_part(place, None)
    own = tuple(f"{plain(engine)} itself says: {plain(words)}" for engine, words in member.error.own_words)
    return FailureView(
        sentences.error_line(member.error),
        _where(place, found),
        source_line(found),
        notes=own,
        details=last_characters(member.error.details),
    )


def _finding_view(finding: Finding, case: CaseResult) -> FailureView:
    lead = finding.lead
    found = location_of_claim(lead)
    place = place_in_case(case, found.place)
    consequences = sentences.consequences(lead, finding.consequences) if finding.consequences else ""
    others = dict.fromkeys(sentences.headline(one) for one in finding.others if one.trial is None)
    also = [*(f"also: {text}" for text in others), *_trials(finding.others), consequences]
    numeric = (
        f"at other numbers: {sentences.trial_text(lead)}" if lead.trial is not None else "",
        sentences.differing_count_text(lead),
        sentences.worst_element_text(lead),
        sentences.tolerance_text(lead),
    )
    return FailureView(
        sentences.title(lead),
        _where(place, found),
        source_line(SourceLocation(place, found.line, found.start, found.length)),
        _code(lead),
        "; ".join(filter(None, (sentences.op_error_text(lead), sentences.evidence_text(lead, finding.consequences)))),
        tuple(sentences.reasons(lead, everything=False)),
        _change(lead),
        tuple(sentences.suggestions(lead)) if _change(lead) is None else (),
        tuple(_formulas(lead)),
        tuple(sentences.counterexamples(lead)),
        draw_heat_map(lead),
        (*filter(None, numeric), *(plain(say(note)) for note in lead.notes)),
        tuple(filter(None, also)),
        tuple(_related_tensors(finding)),
    )


def _where(place: Place, found: SourceLocation) -> str:
    """Return the place; nothing for code that is in no file."""
    return format_place(place) if found.line or not place.line or os.path.exists(place.file) else ""


def _code(c: Comparison) -> tuple[str, SourceLine] | None:
    if c.code is None:
        return None
    found = locate_part(relative_to_cwd(c.code), None)
    line = found.line.rstrip()
    start = len(line) - len(line.lstrip())
    shown = source_line(SourceLocation(found.place, line, start, len(line) - start)) or SourceLine(found.place.line, "")
    return f"computed by {'a cell' if _IN_A_CELL in found.place.file else format_place(found.place)}", shown


def _related_tensors(finding: Finding) -> Iterator[tuple[str, HeatMap]]:
    """Yield the tensors that are wrong in the same way, or because of it."""
    wrong = {_tensor(c): c for c in (*finding.others, *finding.consequences) if c.trial is None}
    for c in [c for key, c in wrong.items() if key != _tensor(finding.lead)][:MOST_TENSORS]:
        heat = draw_heat_map(c)
        if heat is not None:
            yield sentences.headline(c), heat


def _tensor(c: Comparison) -> tuple[object, ...]:
    return c.what, c.tensor, c.step, c.engine


def _trials(others: Sequence[Comparison]) -> list[str]:
    """Return at which other numbers it is wrong, with their sizes."""
    known: dict[str, list[str]] = {}
    for trial in {one.trial.number: one.trial for one in others if one.trial is not None}.values():
        sizes = ", ".join(f"{plain(name)} = {size}" for name, size in trial.sizes.items())
        known.setdefault(sizes, []).append(str(trial.number))
    texts = [f"{join_names(tuple(ones))}{f' ({sizes})' if sizes else ''}" for sizes, ones in known.items()]
    is_one = sum(map(len, known.values())) == 1
    return [f"also in {'trial' if is_one else 'trials'} {'; '.join(texts)}"] if texts else []


def _change(c: Comparison) -> Change | None:
    known = suggested_edit(c)
    if known is None:
        return None
    edit, text = known[1], c.formula
    parts = (text[: edit.start], text[edit.start : edit.end], edit.text, text[edit.end :])
    return Change(plain(c.wrong_step or c.tensor), *map(plain, parts))


def _formulas(c: Comparison) -> list[tuple[str, str]]:
    step = c.wrong_step
    left = "" if c.what is ClaimKind.CHECK or step else c.tensor
    claimed = f"claimed of {plain(step)}" if step else "claimed"
    claimed = "claimed to be wrong" if c.what.is_stated_wrong else claimed
    found = [(claimed, formula_to_mathml(c.formula, left))] if c.what in FORMULA_CLAIMS and c.formula else []
    meant = next((d.formula for d in c.diagnoses if d.formula), "")
    found += [("meant, it seems", formula_to_mathml(meant, left))] if meant and c.what in FORMULA_CLAIMS else []
    return [(word, math) for word, math in found if math]


def source_line(found: SourceLocation) -> SourceLine | None:
    """Return the line, cut if it is very long; None if it is not known."""
    if not found.line:
        return None
    line, start, end = found.line.rstrip(), found.start, found.start + found.length
    before, meant, after = line[:start], line[start:end], line[end:]
    before = before if len(before) <= MOST_IN_A_LINE else f"…{before[1 - MOST_IN_A_LINE :]}"
    shown = (plain(truncate(text, MOST_IN_A_LINE)) for text in (meant, after))
    return SourceLine(found.place.line, plain(before), *shown)


def last_characters(text: str) -> str:
    """Return the end of a text that may be very long."""
    hidden = len(text) - MOST_PRINTED
    told = "\n".join(plain_lines(text[-MOST_PRINTED:]))
    return f"… {count(hidden, 'character')} before\n{told}" if hidden > 0 else told
