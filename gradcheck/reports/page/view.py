"""What a page shows of a case: texts, formulas, pictures, in the order in which they are told. No markup but MathML
and SVG, which are made beside this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.result import UNSETTLED, CaseResult, Comparison, Failure
from gradcheck.reports.causes import Member, members_of
from gradcheck.reports.failed import WORDS
from gradcheck.reports.findings import Finding, locate
from gradcheck.reports.page.heat import Heat, heat_of
from gradcheck.reports.page.knowledge import graph_of
from gradcheck.reports.page.mathml import typeset
from gradcheck.reports.passed import achievements, rows
from gradcheck.reports.phrases import comparisons as told
from gradcheck.reports.phrases import numbers, say
from gradcheck.reports.picture.svg import drawn
from gradcheck.reports.problems import remarks
from gradcheck.reports.source import Spot, lines_of, located, near, spot, suggested
from gradcheck.reports.summary import duration, lacks, power_lines
from gradcheck.reports.text import at, count, plain, plain_lines

#: Findings and claims of a case that are shown, and the lines of its file.
MOST_FINDINGS, MOST_CLAIMS, MOST_LINES = 12, 200, 120
#: Claims whose text is a formula.
_FORMULAS = (ClaimKind.FORMULA, ClaimKind.WRONG_FORMULA, ClaimKind.CHECK)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, in three parts: the middle one is meant."""

    number: int
    before: str
    meant: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What to write instead, as a part of a text: before, the old, the new, after."""

    key: str
    before: str
    old: str
    new: str
    after: str

    @property
    def text(self) -> str:
        """As it should be."""
        return f"{self.before}{self.new}{self.after}"


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing that is wrong with a case."""

    title: str
    where: str = ""
    line: Line | None = None
    backing: str = ""
    reasons: tuple[tuple[str, str], ...] = ()
    change: Change | None = None
    suggestions: tuple[str, ...] = ()
    formulas: tuple[tuple[str, str], ...] = ()  # what is said of it, and MathML
    counterexamples: tuple[str, ...] = ()
    heat: Heat | None = None
    notes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    details: str = ""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim that did not fail: its columns, and its formula as MathML."""

    columns: tuple[str, ...]
    math: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """All of a case that is shown; of a `brief` one no more than what stands at its top."""

    case: CaseResult
    word: str
    about: str
    facts: tuple[str, ...] = ()
    brief: bool = False
    shown: tuple[Shown, ...] = ()
    more: int = 0
    graph: str = ""
    claims: tuple[Claimed, ...] = ()
    file: tuple[Line, ...] = ()
    smallest: tuple[tuple[str, str], ...] = ()
    printed: tuple[tuple[str, str], ...] = field(default=())


def brief_view(case: CaseResult) -> View:
    """How it came out, and no more."""
    return View(case, WORDS[case.status][0], plain(remark_of(case)), tuple(_facts(case)), brief=True)


def full_view(case: CaseResult, titles: bool = False) -> View:
    """Everything; with `titles` the nodes of the graph tell of themselves without a script."""
    members = members_of(case) if _is_bad(case) else []
    shown = [_shown(member) for member in members[:MOST_FINDINGS] if member.finding or member.error]
    graph = graph_of(case)
    return View(
        case,
        WORDS[case.status][0],
        plain(remark_of(case)),
        tuple(_facts(case)),
        shown=tuple(shown),
        more=max(0, len(members) - MOST_FINDINGS),
        graph="" if graph is None else drawn(graph, titles=titles, label=f"the graph of {case.name}"),
        claims=tuple(_claims(case)),
        file=tuple(_file(case, members)),
        smallest=tuple(_smallest(case)),
        printed=tuple((engine, "\n".join(plain_lines(text.strip()))) for engine, text in case.output.items()),
    )


def _is_bad(case: CaseResult) -> bool:
    return bool(case.errors) or any(c.status in UNSETTLED for c in case.comparisons)


def remark_of(case: CaseResult) -> str:
    """The case in a line: what holds, or what is wrong first."""
    if case.status == "passed":
        return "; ".join(achievements(case))
    member = members_of(case)[0] if _is_bad(case) else None
    if member is not None and member.finding is not None:
        return told.title(member.finding.lead)
    if member is not None and member.error is not None:
        return told.error_line(member.error)
    return lacks(case) or told.verdict(case)


def _facts(case: CaseResult) -> list[str]:
    """What is told of a case besides: its description, how long it took, what a reader should know."""
    found = [plain(case.case.description)] if case.case is not None and case.case.description else []
    time = "from the cache" if case.cached else f"took {duration(case.seconds)}"
    found.append(f"{time}; seed {case.seed}")
    found += [remark.message for remark in remarks(case)] + power_lines(case, True)
    for engine, conventions in case.conventions:
        found += [f"{plain(engine)}: {plain(say(one))}" for one in conventions]
    return list(dict.fromkeys(found))


# What is wrong -----------------------------------------------------------------------------------------


def _shown(member: Member) -> Shown:
    if member.finding is not None:
        return _of_finding(member.finding, member.case)
    assert member.error is not None
    return _of_error(member.error, member.case)


def _of_error(error: Failure, case: CaseResult) -> Shown:
    place = locate(case, error.place)
    found = located(place, None)
    own = tuple(f"{plain(engine)} itself says: {plain(words)}" for engine, words in error.own_words)
    details = "\n".join(plain_lines(error.details))
    return Shown(told.error_line(error), at(place), _line(found), notes=own, details=details)


def _of_finding(finding: Finding, case: CaseResult) -> Shown:
    lead = finding.lead
    found = spot(lead)
    place = locate(case, found.place)
    code = (f"computed by {at(near(lead.code))}",) if lead.code is not None else ()
    consequences = told.consequences(lead, finding.consequences) if finding.consequences else ""
    others = dict.fromkeys(told.headline(one) for one in finding.others if one.trial is None)
    trials = list(dict.fromkeys(str(one.trial.number) for one in finding.others if one.trial is not None))
    also = [f"also: {text}" for text in others] + ([f"also in trials {', '.join(trials)}"] if trials else [])
    numeric = (numbers.differing(lead), numbers.worst(lead), numbers.allowed(lead))
    return Shown(
        told.title(lead),
        at(place),
        _line(Spot(place, found.line, found.start, found.length)),
        "; ".join(filter(None, (told.raised(lead), told.backing(lead, finding.consequences)))),
        tuple(told.reasons(lead, everything=False)),
        _change(lead),
        tuple(told.suggestions(lead)) if _change(lead) is None else (),
        tuple(_formulas(lead)),
        tuple(told.counterexamples(lead)),
        heat_of(lead),
        (*_trial(lead), *filter(None, numeric), *(plain(say(note)) for note in lead.notes), *code),
        (*also, *filter(None, (consequences,))),
    )


def _trial(c: Comparison) -> tuple[str, ...]:
    return (f"at other numbers: {numbers.trial(c)}",) if c.trial is not None else ()


def _change(c: Comparison) -> Change | None:
    known = suggested(c)
    if known is None:
        return None
    edit, text = known[1], c.formula
    parts = (text[: edit.start], text[edit.start : edit.end], edit.text, text[edit.end :])
    return Change(plain(c.tensor), *map(plain, parts))


def _formulas(c: Comparison) -> list[tuple[str, str]]:
    """What is claimed, and what may have been meant."""
    left = "" if c.what is ClaimKind.CHECK else c.tensor
    found = [("claimed", typeset(c.formula, left))] if c.what in _FORMULAS and c.formula else []
    meant = next((d.formula for d in c.diagnoses if d.formula), "")
    found += [("meant, it seems", typeset(meant, left))] if meant and c.what in _FORMULAS else []
    return [(word, math) for word, math in found if math]


def _line(found: Spot) -> Line | None:
    if not found.line:
        return None
    line, start, end = found.line.rstrip(), found.start, found.start + found.length
    return Line(found.place.line, *(plain(text) for text in (line[:start], line[start:end], line[end:])))


# What is right -----------------------------------------------------------------------------------------


def _claims(case: CaseResult) -> list[Claimed]:
    """A line each, with the certificate; formulas typeset."""
    found: list[Claimed] = []
    for group, columns in rows(case):
        if len(found) == MOST_CLAIMS:
            break
        first = group[0]
        left = "" if first.what is ClaimKind.CHECK else first.tensor
        math = typeset(first.formula, left) if first.what in _FORMULAS and first.formula else ""
        found.append(Claimed(columns, math))
    return found


# What goes with it -------------------------------------------------------------------------------------


def _file(case: CaseResult, members: Sequence[Member]) -> list[Line]:
    """The case file's own lines, from where the case begins to where it ends, with what is meant in them."""
    lines = lines_of(case.place.file or case.file)
    first = max(1, case.place.line)
    marked: dict[int, Line] = {}
    for member in members:
        found = spot(member.finding.lead) if member.finding is not None else None
        place = found.place if found is not None else member.error.place if member.error is not None else case.place
        if found is None or not found.line:
            found = located(place, None)
        line = _line(found)
        if line is not None and found.place.file == (case.place.file or case.file):
            marked.setdefault(line.number, line)
    last = next((n for n in range(first, len(lines)) if lines[n].rstrip() == "---"), len(lines))
    if last - first >= MOST_LINES:
        middle = min(marked, default=first)
        first = max(first, min(middle - MOST_LINES // 2, last - MOST_LINES))
        last = first + MOST_LINES - 1
    kept = list(enumerate(lines[first - 1 : last], first))
    while kept and not kept[-1][1].strip():
        kept.pop()
    return [marked.get(number) or Line(number, plain(text.expandtabs(4))) for number, text in kept]


def _smallest(case: CaseResult) -> list[tuple[str, str]]:
    """The smallest case that fails in the same way: as a case file, and as Python."""
    found = case.smallest
    if found is None:
        return []
    size = count(found.operations, "operation")
    texts = [(f"as a case ({size})", found.case)] + ([("in Python", found.snippet)] if found.snippet else [])
    return [(title, "\n".join(plain_lines(text))) for title, text in texts]
