"""After a failure: where it comes from, what follows from it, and why. Asked only where something has failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from gradcheck.checks import alone, derivation, locate, sweeping
from gradcheck.checks.diagnosis import Evidence, confirmed
from gradcheck.checks.elsewhere import Elsewhere
from gradcheck.checks.flow import Flow
from gradcheck.checks.nodes import WrongNode
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.language.problem import Problem

#: How many failures of each kind are diagnosed in one case.
MOST = 3

_GRADIENTS = ("gradient", "expected")
#: Of everything that is computed for an explanation, what can go wrong at numbers that nobody chose.
_CANNOT = (GradcheckError, ValueError, TypeError, ArithmeticError, LookupError)


def explain(
    problem: Problem,
    evaluations: Mapping[str, Evaluation],
    comparisons: Sequence[Comparison],
    wrong: Sequence[WrongNode],
    engines: Sequence[Engine],
    reference: Engine,
    operations: int,
) -> list[Comparison]:
    """The comparisons, with causes, consequences and diagnoses where they failed."""
    if all(comparison.status != "failed" for comparison in comparisons):
        return list(comparisons)
    found = _Explanation(problem, evaluations, list(comparisons), reference, operations, Elsewhere(problem))
    for engine in engines:
        if not found.is_wrong_value(engine):
            spoilt = found.nodes(engine, [one for one in wrong if one.engine is engine])
            found.sweep(engine, spoilt, [one for one in wrong if one.engine is engine])
    found.formulas()
    return found.comparisons


@dataclass(slots=True)
class _Explanation:
    """The comparisons of one case while they are being explained."""

    problem: Problem
    evaluations: Mapping[str, Evaluation]
    comparisons: list[Comparison]
    reference: Engine
    operations: int
    points: Elsewhere
    flows: dict[int, Flow] = field(default_factory=dict)

    # What failed -----------------------------------------------------------------------------------

    def failed(self, what: tuple[str, ...], engine: str = "") -> list[int]:
        """The places of the failed comparisons of these kinds, of one engine or of all."""
        return [
            place
            for place, c in enumerate(self.comparisons)
            if c.status == "failed" and c.what in what and engine in ("", c.engine)
        ]

    def is_wrong_value(self, engine: Engine) -> bool:
        """Whether forward values are wrong, so that gradients cannot be right."""
        return bool(self.failed(("value", "raises"), engine.name))

    def change(self, place: int, **fields: Any) -> None:
        """One comparison with other fields."""
        self.comparisons[place] = replace(self.comparisons[place], **fields)

    def flow(self, step: int) -> Flow:
        """The graph as it is in one step."""
        if step not in self.flows:
            self.flows[step] = Flow(self.problem, step)
        return self.flows[step]

    def why(self, evidence: Iterable[Evidence]) -> tuple[Mapping[str, str], ...]:
        """What the catalogue says; or that it says nothing, and what was tried."""
        try:
            found, tried = confirmed(evidence)
        except _CANNOT as error:
            return ({"kind": "unknown", "message": f"no explanation: {error}"},)
        if found:
            return tuple(diagnosis.as_mapping() for diagnosis in found)
        kinds = ", ".join(kind.replace("_", " ") for kind in tried)
        return ({"kind": "unknown", "message": f"no known mistake explains it; tried: {kinds}", "tried": kinds},)

    # Ops that are wrong alone ------------------------------------------------------------------------

    def nodes(self, engine: Engine, wrong: Sequence[WrongNode]) -> set[str]:
        """Tell of each op that is wrong alone; the names of all tensors behind them, whose gradients are spoilt."""
        spoilt: set[str] = set()
        groups: dict[tuple[object, ...], list[WrongNode]] = {}
        for one in reversed(wrong):  # a backward pass meets the last op first
            groups.setdefault((one.node.application.op.name,), []).append(one)
        numbers = {one.number for one in wrong}
        for count, group in enumerate(groups.values()):
            first = [one for one in reversed(group) if one.number == group[0].number]
            lead, where = first[0], locate.where(first[0])
            self._tell(lead, cause=locate.sentence(first, self.operations, len(numbers)))
            for one in group:
                if count < MOST and one in first:
                    self._tell(one, diagnoses=self._why_node(one))
                if one is not lead:
                    self._tell(one, consequence_of=where)
                behind = self._behind(one.node.application.owner)
                self._spoil(engine, behind, where)
                spoilt |= behind
        return spoilt

    def _why_node(self, one: WrongNode) -> tuple[Mapping[str, str], ...]:
        evidence = alone.evidence_of(one, self.reference, self.problem.dtype, self.points.applications)
        return self.why(evidence)

    def _tell(self, one: WrongNode, **fields: Any) -> None:
        for place in self.failed(("node",), one.engine.name):
            known = self.comparisons[place]
            if (known.tensor, known.message, known.got_array is one.comparison.got_array) == (
                one.comparison.tensor, one.comparison.message, True,
            ):  # fmt: skip
                self.change(place, **fields)
                return

    def _behind(self, owner: str) -> set[str]:
        """The tensors that a gradient reaches through this entry."""
        flow = self.flow(0)
        parts = [name for name in flow.tensors if name == owner or name.startswith(f"{owner}[")]
        return set().union(*(flow.below(part) for part in parts)) if parts else set()

    def _spoil(self, engine: Engine, tensors: set[str], cause: str) -> None:
        for place in self.failed(_GRADIENTS, engine.name):
            if self.comparisons[place].tensor in tensors and not self.comparisons[place].consequence_of:
                self.change(place, consequence_of=cause)

    # Gradients that do not follow from each other ------------------------------------------------------

    def sweep(self, engine: Engine, spoilt: set[str], wrong: Sequence[WrongNode]) -> None:
        """Tell of the tensors at which contributions that are right come to a gradient that is not."""
        places = [p for p in self.failed(("gradient",), engine.name) if self.comparisons[p].trial is None]
        if not places:
            return
        step = min(self.comparisons[place].step for place in places)
        evaluation = self.evaluations[engine.name]
        if self.problem.case.steps[step].action != "backward":
            self._left_over(places, step, evaluation)
            return
        flow = self.flow(step)
        if not flow.is_small:
            return
        found, followed = locate.faults(flow, locate.added(evaluation, step))
        wrong_at = {one.node.application.owner for one in wrong}
        own = [fault for fault in found if not wrong_at & flow.children(fault.tensor)]
        for fault in islice(locate.first(own, flow), MOST):
            uses = len(followed.received.get(flow.tensors[fault.tensor], ()))
            diagnoses = self.why(sweeping.evidence_of(fault, engine, self.reference, self.points))
            for place in places:
                c = self.comparisons[place]
                if (c.tensor, c.step) == (fault.tensor, step):
                    self.change(place, cause=locate.accumulation(fault, self.operations, uses), diagnoses=diagnoses,
                                consequence_of="")  # fmt: skip
            self._spoil(engine, flow.below(fault.tensor) - {fault.tensor}, fault.tensor)
            self._later(engine, fault)

    def _later(self, engine: Engine, fault: locate.Fault) -> None:
        """What goes wrong in one pass stays wrong in those that follow."""
        for place in self.failed(_GRADIENTS, engine.name):
            c = self.comparisons[place]
            if c.tensor == fault.tensor and c.step > fault.step and not c.consequence_of:
                self.change(place, consequence_of=f"{fault.tensor} after step {fault.step + 1}")

    def _left_over(self, places: Sequence[int], step: int, evaluation: Evaluation) -> None:
        """What a step that is no backward pass should have cleared."""
        before = evaluation.states[step - 1].gradients if step else {}
        for place in places[:MOST]:
            c = self.comparisons[place]
            got = c.got_array
            if c.step == step and got is not None:
                want = got * 0 if c.want_array is None else c.want_array
                self.change(place, diagnoses=self.why([Evidence(got, want, earlier=before.get(c.tensor))] * 2))

    # A person's formulas ---------------------------------------------------------------------------------

    def formulas(self) -> None:
        """Why formulas are wrong, at the case's own numbers."""
        step = len(self.problem.case.steps) - 1
        own = [place for place in self.failed(("formula",)) if self.comparisons[place].trial is None]
        for place in own[: 2 * MOST]:
            c = self.comparisons[place]
            for claim in self.problem.case.formulas.get(c.tensor, ()):
                if claim.text == c.formula:
                    evidence = derivation.evidence_of(c.tensor, claim, step, self.reference, self.points)
                    self.change(place, diagnoses=self.why(evidence))
