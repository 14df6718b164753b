"""Everything that belongs to one case while it is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.result import Comparison, Failure
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.sampling import draw

if TYPE_CHECKING:
    from gradcheck.oracles.exact.prove import Proof


@dataclass(slots=True)
class Context:
    """One case on its way through the stages; `found` grows with each."""

    case: Case
    options: Options
    engines: Engines
    points: Points
    errors: tuple[Failure, ...] = ()  # raised, or not raised, unlike the case states
    found: list[Comparison] = field(default_factory=list)
    stage_seconds: dict[str, float] = field(default_factory=dict)  # by stage; "explanation" is of failures
    failed_explanations: list[Failure] = field(default_factory=list)  # errors of the search for explanations
    #: Proofs of the exact oracle, by the id of a problem, then by tensor and formula text.
    proofs: dict[int, dict[tuple[str, str], Proof]] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, options: Options, engines: Engines) -> Context:
        """Return a case's context, with its numbers drawn. Raises InvalidCase."""
        chosen = options.apply(case)
        meant = engines.only(case.only)
        return cls(chosen, options, meant, Points(draw(chosen, options.seed), meant))

    @property
    def can_be_checked(self) -> bool:
        """True if the reference evaluated the graph without unexpected errors."""
        want = self.points.own.want
        return bool(want.states) and not self.errors and not (want.error and want.error.kind == "unsupported")

    def is_requested(self, found: Comparison) -> bool:
        """Return whether the run's mode asks for a comparison."""
        return self.options.mode != "forward" or found.what not in (ClaimKind.NODE, ClaimKind.GRADIENT)

    def amend(self, which: Callable[[Comparison], bool], change: Callable[[Comparison], Comparison]) -> None:
        """Apply `change` to each earlier comparison that `which` selects."""
        self.found = [change(c) if which(c) else c for c in self.found]
