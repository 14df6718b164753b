"""The comparisons of a case while failures at one point are explained."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gradcheck.checks.context import Context
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, matching_diagnoses
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Cause, Comparison, Diagnosis
from gradcheck.engines.base import Engine
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

#: The most failures of each kind that are diagnosed.
MAX_DIAGNOSED = 3
#: Claims about gradients.
GRADIENTS = (ClaimKind.GRADIENT, ClaimKind.EXPECTED)
FORWARD_MODE = (ClaimKind.NODE_JVP, ClaimKind.JVP, ClaimKind.DOT_PRODUCT)
#: Errors of computations at arbitrary numbers.
COMPUTATION_ERRORS = (GradcheckError, ValueError, TypeError, ArithmeticError, LookupError)


@dataclass(slots=True)
class PointFailures:
    """A point with failures; comparisons are changed by their places.

    At the case's own numbers, failures of trials may be consequences too; at a trial only its own comparisons
    count.
    """

    context: Context
    point: Point
    operations: int = 0  # how many ops of the graph were looked at alone here
    _flows: dict[int, GradientFlow] = field(default_factory=dict)

    @property
    def comparisons(self) -> list[Comparison]:
        return self.context.found

    @property
    def reference(self) -> Engine:
        return self.context.engines.reference

    def is_here(self, c: Comparison) -> bool:
        return c.trial == self.point.trial

    def failed(self, kinds: Collection[ClaimKind] = (), engine: str = "") -> list[int]:
        """Return the places of failures, of some kinds or one engine."""
        failed = ((place, c) for place, c in enumerate(self.comparisons) if c.status == "failed")
        asked = ((place, c) for place, c in failed if engine in ("", c.engine) and (not kinds or c.what in kinds))
        return [place for place, c in asked if self.point.trial is None or self.is_here(c)]

    def failed_here(self, kinds: Collection[ClaimKind] = (), engine: str = "") -> list[int]:
        """Return the places of failures at this point's numbers."""
        return [place for place in self.failed(kinds, engine) if self.is_here(self.comparisons[place])]

    def change(self, place: int, **fields: Any) -> None:
        self.comparisons[place] = replace(self.comparisons[place], **fields)

    def blame(self, place: int, cause: Cause, diagnoses: tuple[Diagnosis, ...]) -> None:
        """Make one comparison the one that shows a cause."""
        self.change(place, cause=cause, diagnoses=diagnoses, consequence_of=None)

    def mark_consequences(self, origin: Fact, places: Iterable[int]) -> None:
        """Mark comparisons as consequences, unless they have a cause already."""
        for place in places:
            c = self.comparisons[place]
            if not c.consequence_of and not c.cause:
                self.change(place, consequence_of=origin)

    def mark_gradient_consequences(self, origin: Fact, engine: Engine, tensors: set[str]) -> None:
        """Mark the failed gradients of some tensors as consequences."""
        places = self.failed(GRADIENTS, engine.name)
        self.mark_consequences(origin, [place for place in places if self.comparisons[place].tensor in tensors])

    def flow(self, step: int) -> GradientFlow:
        if step not in self._flows:
            self._flows[step] = GradientFlow(self.point.problem, step)
        return self._flows[step]


def diagnose(evidence: Iterable[Evidence]) -> tuple[Diagnosis, ...]:
    """Return the matching diagnoses, or one `unknown` with the kinds tried."""
    try:
        found, tried = matching_diagnoses(evidence)
    except COMPUTATION_ERRORS as error:
        return (Diagnosis("unknown", fact("no_explanation", error=str(error))),)
    if found:
        return tuple(found)
    return (Diagnosis("unknown", fact("nothing_explains_it", tried=tuple(tried)), tried=tuple(tried)),)
