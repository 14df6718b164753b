"""The state of one claim from point to point, and the proof in the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from gradcheck.errors import GradcheckError, ShapeMismatch
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Expr
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.dual_numbers import DivisionByZero, Dual

#: The largest probability of accepting a wrong formula.
MAX_ERROR_PROBABILITY = 1e-18
#: The most points of a claim, and the fewest that show that it needs more.
MAX_POINTS, MIN_POINTS_TO_GIVE_UP = 10, 2
#: The number of divisions by zero at which the claim is left to another oracle.
MAX_DIVISIONS_BY_ZERO = 3


@dataclass(frozen=True, slots=True)
class Proof:
    """The result for one claim."""

    status: Literal["proved", "refuted", "unsupported"]
    points: int = 0
    degree: int = 0  # of the numerator of the difference
    bound: float = 1.0  # the probability of accepting a wrong claim
    uninterpreted: tuple[str, ...] = ()  # functions that may have any values
    conditions: tuple[str, ...] = ()  # of the formula, beyond the graph's own: `x > 0`
    for_any_incoming: bool = True  # or for those in the file
    unsupported_reason: Fact | None = None  # if it is unsupported


@dataclass(slots=True)
class ClaimTracker:
    """The state of one claim."""

    name: str
    formula: Expr
    unsupported_reason: Fact | None = None
    points: int = 0
    degree: int = 0
    bound: float = 1.0
    is_refuted: bool = False
    errors: int = 0
    uninterpreted: set[str] = field(default_factory=set)
    #: The tensors whose gradients it uses.
    gradients: tuple[str, ...] = ()
    #: Whether incoming gradients are free even if the file states them.
    frees_incoming: bool = True
    #: The point at which it is refuted, and whether that depends on the values of uninterpreted functions.
    refuted_at: int = 0
    depends_on_functions: bool = True
    conditions: tuple[str, ...] = ()

    @property
    def is_decided(self) -> bool:
        return self.is_refuted or self.unsupported_reason is not None or self.is_proved

    @property
    def needs_too_many_points(self) -> bool:
        """True if the allowed number of points cannot rule out chance."""
        return (
            self.points >= MIN_POINTS_TO_GIVE_UP and self.bound ** (MAX_POINTS / self.points) >= MAX_ERROR_PROBABILITY
        )

    @property
    def is_proved(self) -> bool:
        return self.bound < MAX_ERROR_PROBABILITY and not self.is_refuted and self.unsupported_reason is None

    def find_gradients(self, dependencies: Dependencies) -> None:
        if self.unsupported_reason is None:
            try:
                self.gradients = dependencies.of(self.formula).gradients
            except GradcheckError as error:
                self.unsupported_reason = fact("exact_error", message=error.message)

    def restart(self) -> None:
        self.points, self.degree, self.bound, self.errors = 0, 0, 1.0, 0
        self.is_refuted, self.uninterpreted = False, set()

    def record_error(self, error: GradcheckError) -> None:
        """Note an error at a point; a division by zero may not occur at another."""
        self.errors += 1
        if isinstance(error, ShapeMismatch):
            self.is_refuted, self.depends_on_functions = True, False
        elif not isinstance(error, DivisionByZero) or self.errors >= MAX_DIVISIONS_BY_ZERO:
            self.unsupported_reason = fact("exact_error", message=error.message)

    def record_gap(self, gap: Dual, degree: Degree, number: int) -> None:
        """Note the difference from the derivative, of at most this degree."""
        self.points += 1
        self.uninterpreted |= gap.point.uninterpreted
        self.degree = max(self.degree, degree.numerator)
        self.bound *= gap.point.error_bound(degree)
        self.is_refuted, self.refuted_at = bool(gap.value != 0), number
        self.depends_on_functions = bool(gap.point.uninterpreted)

    def proof(self) -> Proof:
        functions = tuple(sorted(self.uninterpreted))
        if self.unsupported_reason is not None:
            return Proof("unsupported", unsupported_reason=self.unsupported_reason)
        if self.is_refuted and self.depends_on_functions:
            why = fact("exact_uninterpreted", functions=functions)
            return Proof("unsupported", self.points, self.degree, uninterpreted=functions, unsupported_reason=why)
        if self.is_refuted:
            return Proof("refuted", self.points, self.degree)
        if not self.is_proved:
            why = fact("exact_degree", degree=self.degree, points=MAX_POINTS)
            return Proof("unsupported", self.points, self.degree, self.bound, functions, unsupported_reason=why)
        found = Proof("proved", self.points, self.degree, self.bound, functions, self.conditions)
        return replace(found, for_any_incoming=self.frees_incoming)
