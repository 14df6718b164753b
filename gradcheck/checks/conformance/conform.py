"""Everything about one engine: cases, ops and properties, and whether it holds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gradcheck.autograd.modes import quiet
from gradcheck.checks.conformance.cost import Cost, cost_of
from gradcheck.checks.conformance.op_cases import op_cases
from gradcheck.checks.conformance.properties import Finding, check_properties
from gradcheck.checks.result import CaseResult, CaseStatus, RunResult
from gradcheck.checks.run import Source, run
from gradcheck.engines.base import Engine, conventions
from gradcheck.facts import Fact
from gradcheck.shown import Shown

Standing = Literal["right", "wrong", "lacking"]
#: What each status of a case comes to; what was skipped says nothing.
_STANDING: dict[CaseStatus, Standing] = {
    "passed": "right",
    "xfailed": "right",
    "failed": "wrong",
    "crashed": "wrong",
    "xpassed": "wrong",
    "unsupported": "lacking",
}
_FROM_BEST: tuple[Standing, ...] = ("lacking", "right", "wrong")


@dataclass(frozen=True, slots=True)
class Conformance(Shown):
    """What came of it. `ops` has the worst standing among an op's calls; one that the engine can be asked for in some
    forms only is right if these are, and one that was written in wrong ones for it, `made_of` these, is lacking."""

    engine: str
    cases: RunResult | None
    ops: dict[str, Standing]
    op_results: RunResult
    properties: tuple[Finding, ...]
    conventions: tuple[Fact, ...] = ()
    cost: Cost | None = None
    made_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong. Lacking is no wrong."""
        wrong_ops = "wrong" in self.ops.values()
        return not (self.count("wrong") or wrong_ops or any(found.status == "fails" for found in self.properties))

    @property
    def checked_nothing(self) -> bool:
        """Whether nothing could be asked of it: no case, no op, no property."""
        asked = self.count("right") or self.count("wrong") or any(word != "lacking" for word in self.ops.values())
        return not asked and all(found.status == "unsupported" for found in self.properties)

    @property
    def everything(self) -> RunResult:
        """Cases and calls of ops as one run."""
        cases = () if self.cases is None else self.cases.cases
        return replace(self.op_results, cases=(*cases, *self.op_results.cases))

    def count(self, wanted: Standing) -> int:
        """How many cases stand so."""
        return 0 if self.cases is None else sum(standing(case) == wanted for case in self.cases.cases)


def standing(case: CaseResult) -> Standing | None:
    """What a case says about its engine; None if nothing."""
    return _STANDING.get(case.status)


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
    with warnings.catch_warnings():  # torch has opinions on some of its own arguments
        warnings.simplefilter("ignore")
        results = run(op_cases(ops), engines=[engine], timeout=timeout, dtype=dtype)
        results = replace(results, cases=tuple(map(_as_asked, results.cases)))
    properties = check_properties(engine, timeout)
    cost = _cost(engine, beside, properties) if beside else None
    ops_of = {case.tags[0]: parts for case in results.cases if (parts := wrong_parts_of(case))}
    return Conformance(engine.name, found, _by_op(results), results, properties, conventions(engine), cost, ops_of)


def _as_asked(case: CaseResult) -> CaseResult:
    """A call of an op of which no gradient could be read, and with which nothing is wrong, was not asked for."""
    nothing = not case.errors and all(c.status in ("passed", "unsupported") for c in case.comparisons)
    return replace(case, status="unsupported") if case.status == "failed" and nothing else case


def _cost(engine: Engine, beside: Sequence[Engine], properties: Sequence[Finding]) -> Cost | None:
    """None where nothing holds that a pass is timed for."""
    if all(found.status != "holds" for found in properties):
        return None
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        return cost_of(engine, [one for one in beside if one.name != engine.name])


def _by_op(results: RunResult) -> dict[str, Standing]:
    """The worst standing among each op's cases, each of which is tagged with its op."""
    worst: dict[str, Standing] = {}
    for case in results.cases:
        (op,) = case.tags
        parts = wrong_parts_of(case)
        found: Standing | None = "lacking" if parts else standing(case)
        told: dict[str, Standing] = dict.fromkeys(parts, "wrong")
        for name, word in (told | ({} if found is None else {op: found})).items():
            worst[name] = max(worst.get(name, "lacking"), word, key=_FROM_BEST.index)
    return worst


def wrong_parts_of(case: CaseResult) -> tuple[str, ...]:
    """The ops to which all is due that is wrong with a case, where its own op was written in these."""
    causes = [c.cause for c in case.comparisons if c.cause is not None]
    others = [c for c in case.comparisons if c.status == "failed" and c.cause is None and c.consequence_of is None]
    if standing(case) != "wrong" or others or any(cause.origin.kind != "op_inside" for cause in causes):
        return ()
    return tuple(dict.fromkeys(str(cause.origin["op"]) for cause in causes))
