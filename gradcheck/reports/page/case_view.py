"""The contents of a case on a page; the only markup is MathML and SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.trace import ArraySummary, summarize
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.sampling import draw
from gradcheck.reports.causes import GroupMember, case_members
from gradcheck.reports.failed_case import STATUS_WORDS
from gradcheck.reports.located_messages import remark_messages
from gradcheck.reports.number_formats import format_duration, format_error
from gradcheck.reports.page.failure_view import (
    FORMULA_CLAIMS,
    FailureView,
    SourceLine,
    failure_view,
    last_characters,
    source_line,
)
from gradcheck.reports.page.mathml import formula_to_mathml
from gradcheck.reports.passed_case import claim_rows, passed_remarks
from gradcheck.reports.phrases import comparison_text as sentences
from gradcheck.reports.phrases import say
from gradcheck.reports.picture.diagram import Diagram, NodeVerdict, diagram_of_case, nearest_nodes, with_verdicts
from gradcheck.reports.picture.svg import MARKS, MEANINGS, to_svg
from gradcheck.reports.safe_text import count, plain, plain_lines, truncate
from gradcheck.reports.source_lines import file_lines, locate_part, location_of_claim
from gradcheck.reports.summary import missing_features_text, mutation_score_lines
from gradcheck.reports.tensors import to_printable_dtype, value_range_text

#: The most findings, claims, and lines of its file that are shown of a case.
MOST_FINDINGS, MOST_CLAIMS, MOST_LINES = 12, 200, 120
#: The most characters of a line of the file, and of any other text.
MOST_IN_A_LINE, MOST_IN_A_TEXT = 720, 2_000
#: The most nodes that are drawn, and the most elements of a tensor that is recomputed.
MOST_NODES, MOST_ELEMENTS = 300, 4_000_000
#: The most claims in the details of a node.
_CLAIMS = 4
_ORDER: tuple[NodeVerdict, ...] = ("unknown", "passed", "follows", "undecided", "failed", "faulty")
_WITHOUT_TENSOR = (ClaimKind.CHECK, ClaimKind.RAISES, ClaimKind.DOT_PRODUCT)


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
    claims: tuple[tuple[tuple[str, ...], str], ...] = ()  # columns of what did not fail, and its formula as MathML
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


def _claims(case: CaseResult) -> list[tuple[tuple[str, ...], str]]:
    """Return a row each, with the certificate; formulas typeset."""
    found: list[tuple[tuple[str, ...], str]] = []
    for group, columns in claim_rows(case):
        if len(found) == MOST_CLAIMS:
            break
        first = group[0]
        left = "" if first.what is ClaimKind.CHECK else first.tensor
        math = formula_to_mathml(first.formula, left) if first.what in FORMULA_CLAIMS and first.formula else ""
        found.append((tuple(truncate(text, MOST_IN_A_TEXT) for text in columns), math))
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


def case_diagram(result: CaseResult) -> Diagram | None:
    """Return the graph with verdicts; None if the case is no longer known."""
    if result.case is None or not result.case.graph:
        return None
    graph = diagram_of_case(result.case)
    verdicts = tensor_verdicts(result)
    # only nodes that are drawn get details
    graph = nearest_nodes(with_verdicts(graph, {name: (verdict, ()) for name, verdict in verdicts.items()}), MOST_NODES)
    return with_verdicts(graph, _node_details(result, graph, verdicts))


def tensor_verdicts(result: CaseResult) -> dict[str, NodeVerdict]:
    """Return the worst verdict on each tensor, by name."""
    found: dict[str, NodeVerdict] = {}

    def learn(name: str, verdict: NodeVerdict) -> None:
        name = name.partition("[")[0]
        if _ORDER.index(verdict) > _ORDER.index(found.get(name, "unknown")):
            found[name] = verdict

    for c in result.comparisons:
        entry = _faulty_entry(c)
        if entry:
            learn(entry, "faulty")
        if c.what not in _WITHOUT_TENSOR:
            learn(c.tensor, _verdict(c, entry))
    return found


def _faulty_entry(c: Comparison) -> str:
    if c.status != "failed" or c.cause is None or c.cause.origin.kind not in ("op_at", "op_inside"):
        return ""
    return str(c.cause.origin["entry"])


def _verdict(c: Comparison, entry: str) -> NodeVerdict:
    if c.status == "passed":
        return "passed"
    if c.status == "failed":
        return "follows" if c.consequence_of is not None or (entry and entry != c.tensor) else "failed"
    return "undecided" if c.status == "undecided" else "unknown"


def _node_details(
    result: CaseResult, graph: Diagram, verdicts: Mapping[str, NodeVerdict]
) -> dict[str, tuple[NodeVerdict, tuple[str, ...]]]:
    claims: dict[str, list[Comparison]] = {}
    for c in result.comparisons:
        if c.what not in _WITHOUT_TENSOR and c.trial is None:
            claims.setdefault(c.tensor.partition("[")[0], []).append(c)
    seen = _core_summaries(result)
    known: dict[str, tuple[NodeVerdict, tuple[str, ...]]] = {}
    for node in graph.nodes:
        own = claims.get(node.name, [])
        lines = [f"{node.name} = {node.text}"] if node.kind == "entry" else [f"{node.kind} {node.text}"]
        lines += _statistics(seen.get(node.name), own, node.kind == "entry") or _shape(own)
        failed = (c for c in own if c.status in ("failed", "undecided"))
        wrong = list(dict.fromkeys(sentences.title(c) if c.cause else sentences.headline(c) for c in failed))
        right = list(dict.fromkeys(c.what.replace("_", " ") for c in own if c.status == "passed"))
        lines += wrong[:_CLAIMS] + ([f"right: {', '.join(right)}"] if right else [])
        known[node.name] = (verdicts.get(node.name, "unknown"), tuple(lines))
    return known


def _core_summaries(result: CaseResult) -> Mapping[str, TensorSummary]:
    """Return the core's values, unless the core crashed or they are large."""
    if result.case is None or result.status in ("crashed", "invalid"):
        return {}
    if max((c.elements for c in result.comparisons), default=0) > MOST_ELEMENTS:
        return {}
    return tensor_summaries(result.case, result.seed)


def _statistics(seen: TensorSummary | None, claims: list[Comparison], is_computed: bool) -> list[str]:
    """Return lines on value and gradient; by engine, if engines differ."""
    lines: list[str] = []
    known = (None, None) if seen is None else (seen.value, seen.gradient)
    for word, kind, own in zip(("value", "gradient"), (ClaimKind.VALUE, ClaimKind.GRADIENT), known, strict=True):
        compared = [c for c in claims if c.what is kind]
        differ = _differing_values([c for c in compared if c.is_failing])
        lines += [f"{word} by {name}: {told}" for name, told in differ.items()]
        if own is not None and not differ:
            agreed = "passed" in {c.status for c in compared} or not (is_computed or kind is ClaimKind.GRADIENT)
            lines.append(f"{word}{'' if agreed else ' by core'}: {array_statistics(own)}")
    return lines


def _differing_values(wrong: list[Comparison]) -> dict[str, str]:
    found: dict[str, str] = {}
    for c in wrong:
        for name, array in zip(sentences.side_names(c), (c.got_array, c.want_array), strict=True):
            if array is not None:
                found[name] = array_statistics(summarize(to_printable_dtype(array)))
    return found


def array_statistics(found: ArraySummary) -> str:
    """Return `[3, 2] float64, from -1 to 4, norm 5.2`, or a single number."""
    shape = f"[{', '.join(map(str, found.shape))}] {found.dtype}" if found.shape else f"scalar {found.dtype}"
    told = f"{shape}, {value_range_text(found).removeprefix('of ')}"
    return told if found.not_finite or found.low == found.high else f"{told}, norm {format_error(found.norm)}"


def _shape(claims: list[Comparison]) -> list[str]:
    known = next((c for c in claims if c.dtype and c.what not in (ClaimKind.NODE, ClaimKind.NODE_JVP)), None)
    return [] if known is None else [f"shape [{', '.join(map(str, known.shape))}] {known.dtype}"]


#: Larger graphs, and graphs with more elements in their leaves, are not evaluated.
MAX_GRAPH_NODES, MAX_ELEMENTS = 20_000, 1_000_000


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """A tensor at the end of a case's steps, with its gradient if any."""

    value: ArraySummary
    gradient: ArraySummary | None = None


def tensor_summaries(case: Case, seed: int | None = None) -> Mapping[str, TensorSummary]:
    """Return summaries by tensor; empty if the case is too large or fails."""
    if sum(1 for claim in case.graph.values() for _ in claim.expr.walk()) > MAX_GRAPH_NODES:
        return {}
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            problem = draw(case, seed)
            leaves = {**problem.inputs, **problem.constants}
            if sum(array.size for array in leaves.values()) > MAX_ELEMENTS:
                return {}
            found = Core().evaluate(problem)
            constants = {name: TensorSummary(summarize(array)) for name, array in problem.constants.items()}
            if not found.states:
                return {
                    **{name: TensorSummary(summarize(array)) for name, array in problem.inputs.items()},
                    **constants,
                }
            last = found.states[-1]
            return constants | {
                name: TensorSummary(summarize(value), None if (g := last.gradients.get(name)) is None else summarize(g))
                for name, value in last.values.items()
            }
    except (GradcheckError, MemoryError):
        return {}
