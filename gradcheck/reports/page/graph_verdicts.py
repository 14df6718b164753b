"""What the nodes of a case's graph say: a verdict each, and the lines that are shown of it on demand.

Where all agree, the numbers of a tensor are those of the core, to the digits that are shown; where an engine differs,
its own stand there beside those of whom it differs from.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradcheck.autograd.trace import Glimpse, glimpse
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.tensor_summaries import Seen, glimpses
from gradcheck.checks.result import UNSETTLED, CaseResult, Comparison
from gradcheck.reports.phrases.comparison_text import headline, title
from gradcheck.reports.phrases.comparison_numbers import parties
from gradcheck.reports.picture.diagram import Graph, Verdict, nearest, of_case, told
from gradcheck.reports.tensors import numbers, span
from gradcheck.reports.safe_text import brief

#: A larger graph is not drawn whole; a larger tensor not computed again for its picture.
MOST_NODES, MOST_ELEMENTS = 300, 4_000_000
#: How many claims a node tells of.
_CLAIMS = 4
_ORDER: tuple[Verdict, ...] = ("unknown", "passed", "follows", "undecided", "failed", "faulty")
_WITHOUT_TENSOR = (ClaimKind.CHECK, ClaimKind.RAISES, ClaimKind.DOT_PRODUCT)


def graph_of(result: CaseResult) -> Graph | None:
    """The graph of the case with what the result says of each node; None where the case is not known any more."""
    if result.case is None or not result.case.graph:
        return None
    graph = of_case(result.case)
    verdicts = verdicts_of(result)
    # of a large graph only what is drawn has lines to be shown
    graph = nearest(told(graph, {name: (verdict, ()) for name, verdict in verdicts.items()}), MOST_NODES)
    return told(graph, _known(result, graph, verdicts))


def verdicts_of(result: CaseResult) -> dict[str, Verdict]:
    """By the names of tensors; the worst that was found of each."""
    found: dict[str, Verdict] = {}

    def learn(name: str, verdict: Verdict) -> None:
        name = name.partition("[")[0]
        if _ORDER.index(verdict) > _ORDER.index(found.get(name, "unknown")):
            found[name] = verdict

    for c in result.comparisons:
        entry = _origin(c)
        if entry:
            learn(entry, "faulty")
        if c.what not in _WITHOUT_TENSOR:
            learn(c.tensor, _verdict(c, entry))
    return found


def _origin(c: Comparison) -> str:
    """The entry at which it goes wrong, where that is known."""
    if c.status != "failed" or c.cause is None or c.cause.origin.kind not in ("op_at", "op_inside"):
        return ""
    return str(c.cause.origin["entry"])


def _verdict(c: Comparison, entry: str) -> Verdict:
    if c.status == "passed":
        return "passed"
    if c.status == "failed":
        return "follows" if c.consequence_of is not None or (entry and entry != c.tensor) else "failed"
    return "undecided" if c.status == "undecided" else "unknown"


# Lines -------------------------------------------------------------------------------------------------


def _known(
    result: CaseResult, graph: Graph, verdicts: Mapping[str, Verdict]
) -> dict[str, tuple[Verdict, tuple[str, ...]]]:
    """For every node of the graph."""
    claims: dict[str, list[Comparison]] = {}
    for c in result.comparisons:
        if c.what not in _WITHOUT_TENSOR and c.trial is None:
            claims.setdefault(c.tensor.partition("[")[0], []).append(c)
    seen = _seen(result)
    known: dict[str, tuple[Verdict, tuple[str, ...]]] = {}
    for node in graph.nodes:
        own = claims.get(node.name, [])
        lines = [f"{node.name} = {node.text}"] if node.kind == "entry" else [f"{node.kind} {node.text}"]
        lines += _statistics(seen.get(node.name), own, node.kind == "entry") or _shape(own)
        lines += _told(own)
        known[node.name] = (verdicts.get(node.name, "unknown"), tuple(lines))
    return known


def _seen(result: CaseResult) -> Mapping[str, Seen]:
    """What the core makes of the case, unless that broke, or is very large."""
    if result.case is None or result.status in ("crashed", "invalid"):
        return {}
    if max((c.elements for c in result.comparisons), default=0) > MOST_ELEMENTS:
        return {}
    return glimpses(result.case, result.seed)


def _statistics(seen: Seen | None, claims: list[Comparison], is_computed: bool) -> list[str]:
    """Of the value and of the gradient: whose they are, where not all have the same."""
    lines: list[str] = []
    known = (None, None) if seen is None else (seen.value, seen.gradient)
    for word, kind, own in zip(("value", "gradient"), (ClaimKind.VALUE, ClaimKind.GRADIENT), known, strict=True):
        compared = [c for c in claims if c.what is kind]
        differ = _differing([c for c in compared if c.status in UNSETTLED])
        lines += [f"{word} by {name}: {told}" for name, told in differ.items()]
        if own is not None and not differ:
            agreed = "passed" in {c.status for c in compared} or not (is_computed or kind is ClaimKind.GRADIENT)
            lines.append(f"{word}{'' if agreed else ' by core'}: {statistics(own)}")
    return lines


def _differing(wrong: list[Comparison]) -> dict[str, str]:
    """What each of those that do not agree has, at last."""
    found: dict[str, str] = {}
    for c in wrong:
        for name, array in zip(parties(c), (c.got_array, c.want_array), strict=True):
            if array is not None:
                found[name] = statistics(glimpse(numbers(array)))
    return found


def statistics(found: Glimpse) -> str:
    """`[3, 2] float64, from -1 to 4, norm 5.2`; of a single number, that; how many are NaN or infinite, if any."""
    shape = f"[{', '.join(map(str, found.shape))}] {found.dtype}" if found.shape else f"scalar {found.dtype}"
    told = f"{shape}, {span(found).removeprefix('of ')}"
    return told if found.not_finite or found.low == found.high else f"{told}, norm {brief(found.norm)}"


def _shape(claims: list[Comparison]) -> list[str]:
    known = next((c for c in claims if c.dtype and c.what not in (ClaimKind.NODE, ClaimKind.NODE_JVP)), None)
    return [] if known is None else [f"shape [{', '.join(map(str, known.shape))}] {known.dtype}"]


def _told(claims: list[Comparison]) -> list[str]:
    """What is wrong first; of what is right, what kinds of claims hold."""
    wrong = list(
        dict.fromkeys(title(c) if c.cause else headline(c) for c in claims if c.status in ("failed", "undecided"))
    )
    right = list(dict.fromkeys(c.what.replace("_", " ") for c in claims if c.status == "passed"))
    return wrong[:_CLAIMS] + ([f"right: {', '.join(right)}"] if right else [])
