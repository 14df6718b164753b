"""The labels of a case's graph: a verdict for each node, and its details.

If all engines agree, the numbers of a tensor are those of the core, to the digits that are shown. If one differs, its
numbers are shown beside those of the engine that it differs from.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradcheck.autograd.trace import ArraySummary, summarize
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.checks.tensor_summaries import TensorSummary, tensor_summaries
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.number_formats import format_error
from gradcheck.reports.phrases.comparison_numbers import side_names
from gradcheck.reports.phrases.comparison_text import headline, title
from gradcheck.reports.picture.diagram import Diagram, NodeVerdict, diagram_of_case, nearest_nodes, with_verdicts
from gradcheck.reports.tensors import to_printable_dtype, value_range_text

#: The most nodes that are drawn, and the most elements of a tensor that is recomputed.
MOST_NODES, MOST_ELEMENTS = 300, 4_000_000
#: The most claims in the details of a node.
_CLAIMS = 4
_ORDER: tuple[NodeVerdict, ...] = ("unknown", "passed", "follows", "undecided", "failed", "faulty")
_WITHOUT_TENSOR = (ClaimKind.CHECK, ClaimKind.RAISES, ClaimKind.DOT_PRODUCT)


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
        wrong = list(
            dict.fromkeys(title(c) if c.cause else headline(c) for c in own if c.status in ("failed", "undecided"))
        )
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
        for name, array in zip(side_names(c), (c.got_array, c.want_array), strict=True):
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
