"""Proofs of gradient formulas, by evaluation at random field points.

The directional derivative D of the forward, by dual numbers, depends on no gradient rule. If a formula G differs from
the true gradient, `<G, V> - D` is a polynomial (or a fraction of two) that is not zero, and vanishes at a random point
with a probability of at most its degree over the prime (Schwartz, JACM 27(4), 1980; Zippel, EUROSAM 1979). Points are
added until the product of these bounds is below `MAX_ERROR_PROBABILITY`. All claims of a problem are evaluated
together, each tensor along a direction of its own; only if the sum is not 0 is each evaluated by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Literal

from gradcheck.autograd.modes import quiet
from gradcheck.errors import GradcheckError, ShapeMismatch, Unsupported
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import is_fixed_incoming, mentions_root_gradient
from gradcheck.oracles.exact import domain_conditions
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.domain_conditions import Sign
from gradcheck.oracles.exact.dual_numbers import DivisionByZero, Dual
from gradcheck.oracles.exact.field_point import SCALES, is_piecewise
from gradcheck.oracles.exact.graph_at_point import GraphAtPoint, PointSettings

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


#: The redraws of all functions under which a constant difference does not depend on them.
_REDRAWN = (1, 2, 3)


def prove(problem: Problem, claims: Iterable[tuple[str, Claim]], seed: int = 0) -> list[Proof]:
    """Return whether each `(tensor, formula)` is the tensor's gradient.

    It is for this problem's sizes and any values; for any incoming gradients if the formula uses them, else for those
    of the problem.
    """
    dependencies = Dependencies(problem)
    why = unsupported(problem.case)
    trackers = [ClaimTracker(name, claim.expr, why) for name, claim in claims]
    is_written_out = any(
        is_fixed_incoming(problem.case, value) for step in problem.case.steps for value in step.roots.values()
    )
    for tracker in trackers:
        tracker.find_gradients(dependencies)
        tracker.frees_incoming = not is_written_out or mentions_root_gradient(problem.case, tracker.formula)
    with quiet():
        for frees in (True, False):
            group = [tracker for tracker in trackers if tracker.frees_incoming is frees]
            if group:
                _prove(dependencies, group, PointSettings(seed, frees_incoming=frees))
        _note_conditions(dependencies, [tracker for tracker in trackers if tracker.is_proved], seed)
    return [tracker.proof() for tracker in trackers]


def _note_conditions(dependencies: Dependencies, trackers: list[ClaimTracker], seed: int) -> None:
    """Record where formulas are defined, beyond the graph's own conditions."""
    signs: dict[str, Sign] = dict.fromkeys(dependencies.problem.sizes, "positive")
    asking: list[tuple[ClaimTracker, list[domain_conditions.Condition]]] = []
    for tracker in trackers:
        steps = [dependencies.case.let[step].expr for step in dependencies.of(tracker.formula).steps]
        asked = domain_conditions.conditions((*steps, tracker.formula), signs)
        if asked:
            asking.append((tracker, asked))
    if asking:
        graph = GraphAtPoint(dependencies, PointSettings(seed))
        _ClaimsAtPoint(graph, [tracker for tracker, _ in asking])
        for tracker, asked in asking:
            tracker.conditions = domain_conditions.condition_texts(
                one for one in asked if graph.is_extra_condition(tracker.formula, *one)
            )


def _prove(dependencies: Dependencies, trackers: list[ClaimTracker], setting: PointSettings) -> None:
    """Prove the claims together, then each undecided one by itself."""
    _run(dependencies, trackers, setting)
    again = [tracker for tracker in trackers if tracker.is_refuted and "sqrt" in tracker.uninterpreted]
    for tracker in again:
        tracker.restart()
    _run(dependencies, again, setting._replace(keeps_squares=True))
    for tracker in trackers:
        if len(trackers) > 1 and not tracker.is_decided:
            tracker.restart()
            _run(dependencies, [tracker], setting)
        if tracker.is_refuted and tracker.depends_on_functions:
            here = setting._replace(number=tracker.refuted_at)
            redrawn = [here._replace(redraw=redrawn) for redrawn in _REDRAWN]
            tracker.depends_on_functions = not _has_constant_gap(dependencies, tracker, redrawn) and not (
                is_piecewise(tracker.uninterpreted) and _is_wrong_at_integers(dependencies, tracker, setting)
            )


def _is_wrong_at_integers(dependencies: Dependencies, tracker: ClaimTracker, setting: PointSettings) -> bool:
    """Return whether it is wrong at an integer point, for several primes."""
    for attempt in range(1, len(SCALES) + 1):
        here = setting._replace(integer_attempt=attempt)
        several = [[here._replace(number=number, redraw=redrawn) for redrawn in (1, 2)] for number in (0, 1, 2)]
        if all(_has_constant_gap(dependencies, tracker, settings) for settings in several):
            return True
    return False


def _has_constant_gap(dependencies: Dependencies, tracker: ClaimTracker, settings: Iterable[PointSettings]) -> bool:
    """Return whether a claim's difference is equal, not 0, in all settings."""
    gaps = set()
    for setting in settings:
        try:
            gaps.add(_ClaimsAtPoint(GraphAtPoint(dependencies, setting), [tracker]).gap_alone())
        except GradcheckError:
            return False
        if len(gaps) > 1 or 0 in gaps:
            return False
    return True


def unsupported(case: Case) -> Fact | None:
    """Return why the oracle cannot handle this case, if so."""
    if not case.dtype.startswith(("float", "bfloat")):
        return fact("exact_dtype", dtype=case.dtype)
    if any(step.action != "backward" or step.raises for step in case.steps):
        return fact("exact_steps")
    return None


def _run(dependencies: Dependencies, trackers: list[ClaimTracker], setting: PointSettings) -> None:
    for number in range(MAX_POINTS):
        going = [tracker for tracker in trackers if not (tracker.is_decided or tracker.needs_too_many_points)]
        if not going:
            break
        try:
            at_point = _ClaimsAtPoint(GraphAtPoint(dependencies, setting._replace(number=number)), going)
        except GradcheckError as error:
            for tracker in going:
                tracker.record_error(error)
        else:
            at_point.compare()


class _ClaimsAtPoint:
    """Claims at one point, compared with the derivative there."""

    def __init__(self, graph: GraphAtPoint, trackers: list[ClaimTracker]) -> None:
        self.graph, self.number = graph, graph.setting.number
        self._derivatives: dict[str, Dual] = {}
        self._cores: dict[tuple[str, ...], Degree | None] = {}
        spoken_of = dict.fromkeys(name for tracker in trackers for name in tracker.gradients)
        tensors = {*(tracker.name for tracker in trackers), *graph.dependencies.children_first(spoken_of)}
        self.derivative = self._derivative_along(tensors)
        values = [(tracker, self._value(tracker)) for tracker in trackers]
        self.claimed = [(tracker, value) for tracker, value in values if value is not None]
        #: One claim for each tensor, the core's own if a formula uses it.
        self.chosen: dict[str, Dual] = {tracker.name: value for tracker, value in reversed(self.claimed)}
        self.chosen.update(graph.gradients)
        if self.derivative is None or set(self.chosen) != tensors:
            self.derivative = self._derivative_along(set(self.chosen))

    def _derivative_along(self, tensors: set[str]) -> Dual | None:
        """Return the derivative along all directions; None if one has none."""
        try:
            return self.graph.derivative(tensors)
        except GradcheckError:
            self.graph.derivative(())
            return None

    def _value(self, tracker: ClaimTracker) -> Dual | None:
        try:
            return self.graph.claimed_value(tracker.name, tracker.formula)
        except GradcheckError as error:
            tracker.record_error(error)
            return None

    def gap_alone(self) -> int:
        if not self.claimed:
            raise Unsupported("a formula that cannot be evaluated there")
        tracker, value = self.claimed[0]
        return int(self._gap(tracker.name, value).value)

    def compare(self) -> None:
        """Compare all claims at once: the sum along all directions is 0 if right."""
        if self.derivative is not None and self.claimed:
            claims = [self._inner(name, value) for name, value in self.chosen.items()]
            gap = reduce(add, claims) - self.derivative
            if gap.value == 0:
                for tracker, value in self.claimed:
                    tracker.record_gap(*self._difference_from_chosen(tracker.name, value, gap), self.number)
                return
        for tracker, value in self.claimed:
            self._compare_one(tracker, value)

    def _difference_from_chosen(self, name: str, value: Dual, gap: Dual) -> tuple[Dual, Degree]:
        """Return the difference from the chosen claim for the same tensor."""
        chosen = self.chosen[name]
        if value is chosen:
            return gap, gap.degree
        difference = self._inner(name, value) - self._inner(name, chosen)
        return difference, difference.degree.join(gap.degree)

    def _compare_one(self, tracker: ClaimTracker, value: Dual) -> None:
        try:
            made_of = self.graph.dependencies.children_first(tracker.gradients)
            degree = self._core_gradients_degree(tuple(made_of)) if made_of else Degree()
            if degree is None:
                wrong = next(name for name in made_of if self._gap(name, self.graph.gradients[name]).value != 0)
                tracker.unsupported_reason = fact("exact_core_gradient", tensor=wrong)
                return
            gap = self._gap(tracker.name, value)
        except GradcheckError as error:
            tracker.record_error(error)
        else:
            tracker.record_gap(gap, gap.degree.join(degree), self.number)

    def _core_gradients_degree(self, names: tuple[str, ...]) -> Degree | None:
        """Return the degree of the core gradients' difference; None if not 0."""
        if names not in self._cores:
            claims = [self._inner(name, self.graph.gradients[name]) for name in names]
            gap = reduce(add, claims) - self.graph.derivative(names)
            self._cores[names] = gap.degree if gap.value == 0 else None
        return self._cores[names]

    def _gap(self, name: str, value: Dual) -> Dual:
        if name not in self._derivatives:
            self._derivatives[name] = self.graph.derivative({name})
        return self._inner(name, value) - self._derivatives[name]

    def _inner(self, name: str, value: Dual) -> Dual:
        return self.graph.directions[name].inner(value)
