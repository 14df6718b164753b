"""The contents of a case on a page; the only markup is MathML and SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gradcheck.checks.result import CaseResult
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.causes import GroupMember, case_members
from gradcheck.reports.failed_case import STATUS_WORDS
from gradcheck.reports.located_messages import remark_messages
from gradcheck.reports.number_formats import format_duration
from gradcheck.reports.page.failure_view import (
    FORMULA_CLAIMS,
    FailureView,
    SourceLine,
    failure_view,
    last_characters,
    source_line,
)
from gradcheck.reports.page.graph_verdicts import case_diagram
from gradcheck.reports.page.mathml import formula_to_mathml
from gradcheck.reports.passed_case import claim_rows, passed_remarks
from gradcheck.reports.phrases import comparison_text as sentences
from gradcheck.reports.phrases import say
from gradcheck.reports.picture.diagram import Diagram
from gradcheck.reports.picture.svg import MARKS, MEANINGS, to_svg
from gradcheck.reports.safe_text import count, plain, plain_lines, truncate
from gradcheck.reports.source_lines import file_lines, locate_part, location_of_claim
from gradcheck.reports.summary import missing_features_text, mutation_score_lines

#: The most findings, claims, and lines of its file that are shown of a case.
MOST_FINDINGS, MOST_CLAIMS, MOST_LINES = 12, 200, 120
#: The most characters of a line of the file, and of any other text.
MOST_IN_A_LINE, MOST_IN_A_TEXT = 720, 2_000


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim that did not fail: its columns, and its formula as MathML."""

    columns: tuple[str, ...]
    math: str = ""


@dataclass(frozen=True, slots=True)
class CaseView:
    """Everything that is shown of a case; only the head of a `brief` one."""

    case: CaseResult
    status_word: str
    about: str
    facts: tuple[str, ...] = ()
    is_brief: bool = False
    failures: tuple[FailureView, ...] = ()
    more: int = 0
    graph: str = ""
    marks: tuple[tuple[str, str, str], ...] = ()  # the legend: verdict, mark, meaning
    claims: tuple[ClaimRow, ...] = ()
    has_unsupported_claims: bool = False  # whether an engine does not support a claim
    file: tuple[SourceLine, ...] = ()
    smallest: tuple[tuple[str, str], ...] = ()
    engine_output: tuple[tuple[str, str], ...] = field(default=())


def brief_view(case: CaseResult) -> CaseView:
    """Return the head of a case."""
    return CaseView(case, STATUS_WORDS[case.status][0], plain(case_remark(case)), tuple(_facts(case)), is_brief=True)


def full_view(case: CaseResult, titles: bool = False) -> CaseView:
    """Return everything; with `titles`, nodes of the graph need no script."""
    members = case_members(case) if _has_failure(case) else []
    found = [failure_view(member) for member in members[:MOST_FINDINGS] if member.finding or member.error]
    graph = case_diagram(case)
    return CaseView(
        case,
        STATUS_WORDS[case.status][0],
        plain(case_remark(case)),
        tuple(_facts(case)),
        failures=tuple(found),
        more=max(0, len(members) - MOST_FINDINGS),
        graph="" if graph is None else to_svg(graph, titles=titles, label=f"the graph of {case.name}"),
        marks=() if graph is None else tuple(_marks(graph)),
        claims=tuple(_claims(case)),
        has_unsupported_claims=any(c.status == "unsupported" for c in case.comparisons),
        file=tuple(_file(case, members)),
        smallest=tuple(_smallest(case)),
        engine_output=tuple((engine, last_characters(text.strip())) for engine, text in case.output.items()),
    )


def _marks(graph: Diagram) -> Iterator[tuple[str, str, str]]:
    found = {node.verdict for node in graph.nodes}
    yield from ((verdict, mark, MEANINGS[verdict]) for verdict, mark in MARKS.items() if mark and verdict in found)
    if any(node.is_root for node in graph.nodes):
        yield "root", "▣", "thick: the backward pass begins here"
    if any(node.kind == "constant" for node in graph.nodes):
        yield "constant", "┈", "dashed: a constant, which has no gradient"


def _has_failure(case: CaseResult) -> bool:
    return bool(case.errors) or any(c.is_failing for c in case.comparisons)


def case_remark(case: CaseResult) -> str:
    """Return a case in a line: what holds, or its first problem."""
    if case.status == "passed":
        return "; ".join(passed_remarks(case))
    member = case_members(case)[0] if _has_failure(case) else None
    if member is not None and member.finding is not None:
        return sentences.title(member.finding.lead)
    if member is not None and member.error is not None:
        return sentences.error_line(member.error)
    return missing_features_text(case) or sentences.status_reason(case)


def _facts(case: CaseResult) -> list[str]:
    about = case.case.description if case.case is not None else ""
    found = [plain(truncate(about, MOST_IN_A_TEXT))] if about else []
    time = "from the cache" if case.cached else f"took {format_duration(case.seconds)}"
    found.append(f"{time}; seed {case.seed}")
    found += [remark.message for remark in remark_messages(case)] + mutation_score_lines(case, True)
    for engine, conventions in case.conventions:
        found += [f"{plain(engine)}: {plain(say(one))}" for one in conventions]
    return list(dict.fromkeys(found))


def _claims(case: CaseResult) -> list[ClaimRow]:
    """Return a row each, with the certificate; formulas typeset."""
    found: list[ClaimRow] = []
    for group, columns in claim_rows(case):
        if len(found) == MOST_CLAIMS:
            break
        first = group[0]
        left = "" if first.what is ClaimKind.CHECK else first.tensor
        math = formula_to_mathml(first.formula, left) if first.what in FORMULA_CLAIMS and first.formula else ""
        found.append(ClaimRow(tuple(truncate(text, MOST_IN_A_TEXT) for text in columns), math))
    return found


def _file(case: CaseResult, members: Sequence[GroupMember]) -> list[SourceLine]:
    """Return the lines of the case in its file, with problems marked."""
    lines = file_lines(case.place.file or case.file)
    first = max(1, case.place.line)
    marked: dict[int, SourceLine] = {}
    for member in members:
        found = location_of_claim(member.finding.lead) if member.finding is not None else None
        place = found.place if found is not None else member.error.place if member.error is not None else case.place
        if found is None or not found.line:
            found = locate_part(place, None)
        line = source_line(found)
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
    return [marked.get(n) or SourceLine(n, plain(truncate(text.expandtabs(4), MOST_IN_A_LINE))) for n, text in kept]


def _smallest(case: CaseResult) -> list[tuple[str, str]]:
    found = case.smallest
    if found is None:
        return []
    size = count(found.operations, "operation")
    texts = [(f"as a case ({size})", found.case), ("in Python", found.snippet)]
    return [(title, "\n".join(plain_lines(text))) for title, text in texts if text]
