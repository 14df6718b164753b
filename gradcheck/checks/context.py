"""Context: all that belongs to one case while it is checked: its options, engines and points, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.result import Comparison, Failure
from gradcheck.language.case import Case
from gradcheck.language.sampling import draw

if TYPE_CHECKING:
    from gradcheck.oracles.exact.claim_tracker import Proof


@dataclass(slots=True)
class Context:
    """One case on its way through the stages. `case` is in the run's dtype; `found` grows from stage to stage."""

    case: Case
    options: Options
    engines: Engines
    points: Points
    errors: tuple[Failure, ...] = ()  # what was raised, or not raised, against what the case says
    found: list[Comparison] = field(default_factory=list)
    failed_explanations: list[Failure] = field(default_factory=list)  # how looking for explanations failed
    #: What the exact oracle says of formulas, by tensor and text, for each problem by its id.
    proofs: dict[int, dict[tuple[str, str], Proof]] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, options: Options, engines: Engines) -> Context:
        """The context of one case, its own numbers drawn. Raises InvalidCase where they cannot be."""
        chosen = options.apply(case)
        meant = engines.only(case.only)
        return cls(chosen, options, meant, Points(draw(chosen, options.seed), meant))

    @property
    def can_be_checked(self) -> bool:
        """Whether the reference has evaluated the graph, and nothing was raised that should not have been: else there
        is nothing to hold claims against."""
        want = self.points.own.want
        return bool(want.states) and not self.errors and not (want.error and want.error.kind == "unsupported")

    def is_requested(self, found: Comparison) -> bool:
        """Whether the run's mode asks for it: in forward mode engines' gradients are nobody's business."""
        return self.options.mode != "forward" or found.what not in (ClaimKind.NODE, ClaimKind.GRADIENT)

    def amend(self, which: Callable[[Comparison], bool], change: Callable[[Comparison], Comparison]) -> None:
        """Change what earlier stages found, where `which` holds."""
        self.found = [change(c) if which(c) else c for c in self.found]
