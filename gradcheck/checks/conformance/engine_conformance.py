"""Check one engine by cases, ops and properties."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gradcheck.autograd.modes import quiet
from gradcheck.checks.conformance.cost import Cost, cost_of
from gradcheck.checks.conformance.op_cases import op_cases
from gradcheck.checks.conformance.properties import ACCUMULATES, FORGETS, PropertyFinding, check_properties
from gradcheck.checks.failures.fault_localization import PASS_FAULTS
from gradcheck.checks.failures.traversal_probe import diagnose_small_graphs
from gradcheck.checks.result import CaseResult, CaseStatus, Diagnosis, RunResult
from gradcheck.checks.scheduling.run import Source, run
from gradcheck.engines.base import Engine, conventions
from gradcheck.facts import Fact, fact
from gradcheck.printable_result import PrintableResult

ConformanceStatus = Literal["right", "wrong", "lacking"]
#: The meaning of each case's status; skipped cases have none.
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
class Conformance(PrintableResult):
    """All results for one engine.

    `ops` has the worst status of each op's calls. An op that is composed of wrong ones (`made_of`) is lacking, and so
    is one whose only error is the `backward_pass`, which a small graph shows."""

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
        """True if nothing is wrong; lacking features are not errors."""
        wrong_ops = "wrong" in self.ops.values() or self.backward_pass is not None
        return not (self.count("wrong") or wrong_ops or any(found.status == "fails" for found in self.properties))

    @property
    def checked_nothing(self) -> bool:
        """True if no case, op or property could be checked."""
        is_checked = self.count("right") or self.count("wrong") or any(word != "lacking" for word in self.ops.values())
        return not is_checked and all(found.status == "unsupported" for found in self.properties)

    @property
    def all_results(self) -> RunResult:
        """Cases and op calls as one run."""
        cases = () if self.cases is None else self.cases.cases
        return replace(self.op_results, cases=(*cases, *self.op_results.cases))

    @property
    def ops_not_judged(self) -> tuple[str, ...]:
        """Ops of which only the wrong backward pass is known."""
        shown = {case.tags[0] for case in self.op_results.cases if self.backward_pass and is_backward_pass_fault(case)}
        return tuple(name for name, word in self.ops.items() if word == "lacking" and name in shown)

    def count(self, wanted: ConformanceStatus) -> int:
        """Return how many cases have this status."""
        return 0 if self.cases is None else sum(conformance_status(case) == wanted for case in self.cases.cases)


def conformance_status(case: CaseResult) -> ConformanceStatus | None:
    """Return what a case says about its engine; None if nothing."""
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
    """Check one engine: cases, the named ops or all, and properties.

    `timeout` is in seconds for a case or property. With engines `beside` it, costs are measured too.

    Raises UsageError for an unknown op.
    """
    found = None if source is None else run(source, engines=[engine], timeout=timeout, dtype=dtype)
    if found is not None:  # without cases about the code that they name
        of_engine = (one for one in found.cases if one.case is None or not one.case.implementations)
        found = replace(found, cases=tuple(of_engine))
    with warnings.catch_warnings():  # of torch about its own arguments
        warnings.simplefilter("ignore")
        results = run(op_cases(ops), engines=[engine], timeout=timeout, dtype=dtype)
        results = replace(results, cases=tuple(map(_unsupported_if_unread, results.cases)))
    properties = check_properties(engine, timeout)
    cost = _cost(engine, beside, properties) if beside else None
    fault = _backward_pass_fault(engine, properties)
    judged = [case for case in results.cases if fault is None or not is_backward_pass_fault(case)]
    ops_of = {case.tags[0]: parts for case in judged if (parts := wrong_parts_of(case))}
    seen = (one for run in (found, results) if run is not None for _, one in run.conventions)
    by_op, stated = _status_by_op(results, fault is not None), tuple(dict.fromkeys((*conventions(engine), *seen)))
    return Conformance(engine.name, found, by_op, results, properties, stated, cost, ops_of, fault)


def _backward_pass_fault(engine: Engine, properties: Sequence[PropertyFinding]) -> Diagnosis | None:
    """Return what is wrong with its backward passes as a whole, if known."""
    failing = {p.name for p in properties if p.status == "fails" and getattr(p.why, "kind", "") != "ran_out_of_time"}
    with quiet():
        found = diagnose_small_graphs(engine)
        if found is None and ACCUMULATES in failing:
            found = diagnose_small_graphs(engine, 2)
    if found is None and FORGETS in failing and ACCUMULATES not in failing:
        return Diagnosis("stale", fact("stale_after_zeroing"), "confirmed", fact("shown_by_property", name=FORGETS))
    return found


def _unsupported_if_unread(case: CaseResult) -> CaseResult:
    """Return a call without any readable gradient as unsupported."""
    nothing = not case.errors and all(c.status in ("passed", "unsupported") for c in case.comparisons)
    return replace(case, status="unsupported") if case.status == "failed" and nothing else case


def _cost(engine: Engine, beside: Sequence[Engine], properties: Sequence[PropertyFinding]) -> Cost | None:
    """Return the cost; None if no property holds."""
    if all(found.status != "holds" for found in properties):
        return None
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        return cost_of(engine, [one for one in beside if one.name != engine.name])


def _status_by_op(results: RunResult, is_pass_wrong: bool) -> dict[str, ConformanceStatus]:
    worst: dict[str, ConformanceStatus] = {}
    for case in results.cases:
        (op,) = case.tags
        is_excused = is_pass_wrong and is_backward_pass_fault(case)
        parts = () if is_excused else wrong_parts_of(case)
        found: ConformanceStatus | None = "lacking" if is_excused or parts else conformance_status(case)
        by_part: dict[str, ConformanceStatus] = dict.fromkeys(parts, "wrong")
        for name, word in (by_part | ({} if found is None else {op: found})).items():
            worst[name] = max(worst.get(name, "lacking"), word, key=_FROM_BEST.index)
    return worst


def wrong_parts_of(case: CaseResult) -> tuple[str, ...]:
    """Return the ops that explain all errors of a composed op's case."""
    causes = [c.cause for c in case.comparisons if c.cause is not None]
    others = [c for c in case.comparisons if c.status == "failed" and c.cause is None and c.consequence_of is None]
    if conformance_status(case) != "wrong" or others or any(cause.origin.kind != "op_inside" for cause in causes):
        return ()
    return tuple(dict.fromkeys(str(cause.origin["op"]) for cause in causes))


def is_backward_pass_fault(case: CaseResult) -> bool:
    """Return whether the backward pass explains all errors of a case."""
    failed = [c for c in case.comparisons if c.status == "failed" and c.consequence_of is None]
    causes = [c.cause for c in failed if c.cause is not None]
    found = len(causes) == len(failed) and all(cause.fault.kind in PASS_FAULTS for cause in causes)
    return conformance_status(case) == "wrong" and bool(causes) and found
