"""The comparisons of one case while they are being explained, and what is asked of them again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gradcheck.checks.failures.diagnosis import Evidence, confirmed
from gradcheck.checks.failures.gradient_flow import Flow
from gradcheck.checks.points import Elsewhere
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.language.problem import Problem

#: How many failures of each kind are diagnosed in one case.
MOST = 3
#: Claims about gradients, which are wrong where an op behind them is.
GRADIENTS = ("gradient", "expected")
#: Of everything that is computed for an explanation, what can go wrong at numbers that nobody chose.
_CANNOT = (GradcheckError, ValueError, TypeError, ArithmeticError, LookupError)

Diagnoses = tuple[Mapping[str, str], ...]


@dataclass(slots=True)
class Docket:
    """One case's comparisons, and where else its problem can be looked at."""

    problem: Problem
    evaluations: Mapping[str, Evaluation]
    comparisons: list[Comparison]
    reference: Engine
    operations: int  # how many ops the graph applies
    points: Elsewhere
    flows: dict[int, Flow] = field(default_factory=dict)

    def failed(self, what: tuple[str, ...] = (), engine: str = "") -> list[int]:
        """The places of the failed comparisons of these kinds, or of all, of one engine or of all."""
        return [
            place
            for place, c in enumerate(self.comparisons)
            if c.status == "failed" and (not what or c.what in what) and engine in ("", c.engine)
        ]

    def change(self, place: int, **fields: Any) -> None:
        """One comparison with other fields."""
        self.comparisons[place] = replace(self.comparisons[place], **fields)

    def spoil(self, places: Iterable[int], cause: str) -> None:
        """These would be right but for something else; what is itself a cause, or has one, keeps it."""
        for place in places:
            c = self.comparisons[place]
            if not c.consequence_of and not c.cause:
                self.change(place, consequence_of=cause)

    def spoil_gradients(self, engine: Engine, tensors: set[str], cause: str) -> None:
        """The gradients of these tensors would be right but for something else."""
        places = self.failed(GRADIENTS, engine.name)
        self.spoil([place for place in places if self.comparisons[place].tensor in tensors], cause)

    def flow(self, step: int) -> Flow:
        """The graph as it is in one step."""
        if step not in self.flows:
            self.flows[step] = Flow(self.problem, step)
        return self.flows[step]

    def why(self, evidence: Iterable[Evidence]) -> Diagnoses:
        """What the catalogue says; or that it says nothing, and what was tried."""
        try:
            found, tried = confirmed(evidence)
        except _CANNOT as error:
            return ({"kind": "unknown", "message": f"no explanation: {error}"},)
        if found:
            return tuple(diagnosis.as_mapping() for diagnosis in found)
        kinds = ", ".join(kind.replace("_", " ") for kind in tried)
        return ({"kind": "unknown", "message": f"no known mistake explains it; tried: {kinds}", "tried": kinds},)
