"""Everything about one engine: cases, ops and properties, and whether it holds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gradcheck.autograd.modes import quiet
from gradcheck.checks.conformance.cost import Cost, cost_of
from gradcheck.checks.conformance.op_cases import op_cases
from gradcheck.checks.conformance.properties import ACCUMULATES, FORGETS, PropertyFinding, check_properties
from gradcheck.checks.failures.traversal_probe import diagnose_small_graphs
from gradcheck.checks.result import CaseResult, CaseStatus, Diagnosis, RunResult
from gradcheck.checks.scheduling.run import Source, run
from gradcheck.engines.base import Engine, conventions
from gradcheck.engines.torch import Torch
from gradcheck.facts import Fact, fact
from gradcheck.notebook_repr import NotebookRepr

ConformanceStatus = Literal["right", "wrong", "lacking"]
#: What each status of a case comes to; what was skipped says nothing.
_STATUS_BY_CASE: dict[CaseStatus, ConformanceStatus] = {
    "passed": "right",
    "xfailed": "right",
    "failed": "wrong",
    "crashed": "wrong",
    "xpassed": "wrong",
    "unsupported": "lacking",
}
_FROM_BEST: tuple[ConformanceStatus, ...] = ("lacking", "right", "wrong")


@dataclass(frozen=True, slots=True)
class Conformance(NotebookRepr):
    """What came of it. `ops` has the worst standing among an op's calls; one that the engine can be asked for in some
    forms only is right if these are, and one that was written in wrong ones for it, `made_of` these, is lacking, as is
    one with which nothing is wrong but the `backward_pass`, which a small graph shows."""

    engine: str
    cases: RunResult | None
    ops: dict[str, ConformanceStatus]
    op_results: RunResult
    properties: tuple[PropertyFinding, ...]
    conventions: tuple[Fact, ...] = ()
    cost: Cost | None = None
    made_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    backward_pass: Diagnosis | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong. Lacking is no wrong."""
        wrong_ops = "wrong" in self.ops.values() or self.backward_pass is not None
        return not (self.count("wrong") or wrong_ops or any(found.status == "fails" for found in self.properties))

    @property
    def checked_nothing(self) -> bool:
        """Whether nothing could be asked of it: no case, no op, no property."""
        asked = self.count("right") or self.count("wrong") or any(word != "lacking" for word in self.ops.values())
        return not asked and all(found.status == "unsupported" for found in self.properties)

    @property
    def all_results(self) -> RunResult:
        """Cases and calls of ops as one run."""
        cases = () if self.cases is None else self.cases.cases
        return replace(self.op_results, cases=(*cases, *self.op_results.cases))

    @property
    def ops_not_judged(self) -> tuple[str, ...]:
        """The ops of which nothing is known but that the backward pass is wrong in them."""
        shown = {case.tags[0] for case in self.op_results.cases if self.backward_pass and is_backward_pass_fault(case)}
        return tuple(name for name, word in self.ops.items() if word == "lacking" and name in shown)

    def count(self, wanted: ConformanceStatus) -> int:
        """How many cases stand so."""
        return 0 if self.cases is None else sum(conformance_status(case) == wanted for case in self.cases.cases)


def conformance_status(case: CaseResult) -> ConformanceStatus | None:
    """What a case says about its engine; None if nothing."""
    return _STATUS_BY_CASE.get(case.status)


def conform(
    engine: Engine,
    source: Source | None = None,
    *,
    ops: Sequence[str] = (),
    timeout: float | None = None,
    dtype: str | None = None,
    beside: Sequence[Engine] = (),
) -> Conformance:
    """Everything about one engine; of the ops, those named, or all. `timeout` is in seconds, a case or a property;
    cases and ops are in the `dtype`, where one is given. With engines `beside` it, what a pass costs in each.

    Raises UsageError for an op that is unknown.
    """
    found = None if source is None else run(source, engines=[engine], timeout=timeout, dtype=dtype)
    found = None if found is None else replace(found, cases=tuple(filter(_is_of_engine, found.cases)))
    with warnings.catch_warnings():  # torch has opinions on some of its own arguments
        warnings.simplefilter("ignore")
        results = run(op_cases(ops), engines=[engine], timeout=timeout, dtype=dtype)
        results = replace(results, cases=tuple(map(_unsupported_if_unread, results.cases)))
    properties = check_properties(engine, timeout)
    cost = _cost(engine, beside, properties) if beside else None
    disease = _backward_pass_fault(engine, properties)
    judged = [case for case in results.cases if disease is None or not is_backward_pass_fault(case)]
    ops_of = {case.tags[0]: parts for case in judged if (parts := wrong_parts_of(case))}
    seen = (one for run in (found, results) if run is not None for _, one in run.conventions)
    by_op, told = _status_by_op(results, disease is not None), tuple(dict.fromkeys((*conventions(engine), *seen)))
    return Conformance(engine.name, found, by_op, results, properties, told, cost, ops_of, disease)


def _is_of_engine(case: CaseResult) -> bool:
    """Whether a case is about engines, and not about the code that it names."""
    return case.case is None or not case.case.implementations


def _backward_pass_fault(engine: Engine, properties: Sequence[PropertyFinding]) -> Diagnosis | None:
    """What is wrong with its backward pass as a whole: with one, with one that follows another, or with what should
    have been forgotten between the two."""
    reference, failing = Torch(), {one.name for one in properties if one.status == "fails"}
    with quiet():
        found = diagnose_small_graphs(engine, reference)
        if found is None and ACCUMULATES in failing:
            found = diagnose_small_graphs(engine, reference, 2)
    if found is None and FORGETS in failing and ACCUMULATES not in failing:
        return Diagnosis("stale", fact("stale_after_zeroing"), "confirmed", fact("shown_by_property", name=FORGETS))
    return found


def _unsupported_if_unread(case: CaseResult) -> CaseResult:
    """A call of an op of which no gradient could be read, and with which nothing is wrong, was not asked for."""
    nothing = not case.errors and all(c.status in ("passed", "unsupported") for c in case.comparisons)
    return replace(case, status="unsupported") if case.status == "failed" and nothing else case


def _cost(engine: Engine, beside: Sequence[Engine], properties: Sequence[PropertyFinding]) -> Cost | None:
    """None where nothing holds that a pass is timed for."""
    if all(found.status != "holds" for found in properties):
        return None
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        return cost_of(engine, [one for one in beside if one.name != engine.name])


def _status_by_op(results: RunResult, is_pass_wrong: bool) -> dict[str, ConformanceStatus]:
    """The worst standing among each op's cases, each of which is tagged with its op."""
    worst: dict[str, ConformanceStatus] = {}
    for case in results.cases:
        (op,) = case.tags
        is_excused = is_pass_wrong and is_backward_pass_fault(case)
        parts = () if is_excused else wrong_parts_of(case)
        found: ConformanceStatus | None = "lacking" if is_excused or parts else conformance_status(case)
        told: dict[str, ConformanceStatus] = dict.fromkeys(parts, "wrong")
        for name, word in (told | ({} if found is None else {op: found})).items():
            worst[name] = max(worst.get(name, "lacking"), word, key=_FROM_BEST.index)
    return worst


def wrong_parts_of(case: CaseResult) -> tuple[str, ...]:
    """The ops to which all is due that is wrong with a case, where its own op was written in these."""
    causes = [c.cause for c in case.comparisons if c.cause is not None]
    others = [c for c in case.comparisons if c.status == "failed" and c.cause is None and c.consequence_of is None]
    if conformance_status(case) != "wrong" or others or any(cause.origin.kind != "op_inside" for cause in causes):
        return ()
    return tuple(dict.fromkeys(str(cause.origin["op"]) for cause in causes))


#: Causes that are no op's.
_BACKWARD_PASS_CAUSES = ("goes_wrong_through_graph", "put_together_wrongly", "shared_argument")


def is_backward_pass_fault(case: CaseResult) -> bool:
    """Whether all that is wrong with a case is how gradients are put together."""
    failed = [c for c in case.comparisons if c.status == "failed" and c.consequence_of is None]
    causes = [c.cause for c in failed if c.cause is not None]
    whats = [cause.what["what"] if cause.what.kind == "among_operations" else cause.what for cause in causes]
    found = len(causes) == len(failed) and all(what.kind in _BACKWARD_PASS_CAUSES for what in whats)
    return conformance_status(case) == "wrong" and bool(causes) and found
