"""Many formulas in one file: whether what is said of one depends on its neighbours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from benchmarks.exam.collect import Questions
from benchmarks.exam.graph import Item, case_of
from benchmarks.exam.tools import Verdict, gradcheck
from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import load_text

#: So many wrong formulas stand beside the right ones.
MOST = 10


def influenced(asked: Questions) -> Iterator[tuple[Item, Verdict, bool]]:
    """Formulas that pass alone and fail beside others, or the reverse: with the verdict alone, and whether they pass
    beside others."""
    wrong = [item for item in asked.wrong if item.let is None and item.group != "tautologies"]
    items = [*asked.right, *wrong[:MOST]]
    alone = [(item, gradcheck(item)) for item in items]
    known = [(item, verdict) for item, verdict in alone if verdict.status in ("passed", "failed")]
    found = _beside([item for item, _ in known])
    for item, verdict in known:
        passes = (item.tensor, item.formula) not in _failed(found)
        if passes != verdict.passed:
            yield item, verdict, passes


def _beside(items: Sequence[Item]) -> CaseResult:
    graph = items[0].graph
    formulas: dict[str, list[str]] = {}
    for item in items:
        formulas.setdefault(item.tensor, []).append(item.formula)
    cases, errors = load_text(json.dumps(case_of(graph, formulas, graph.let, graph.name)), "together.yaml")
    assert not errors, errors
    return run(cases[0], explained=graph.pieces).cases[0]


def _failed(found: CaseResult) -> set[tuple[str, str]]:
    """Tensor and text of every formula that fails somewhere."""
    return {(c.tensor, c.formula) for c in found.comparisons if c.what is ClaimKind.FORMULA and c.is_failing}
