"""Code without a specification: its backward is held to its own forward.

The witnesses are its forward differentiated by torch, where torch goes through it, and differences in both directions
with error bars. A difference that is well known decides; where it is blurred, the forward does. At a kink whatever lies
between the two sides is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import base, epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.implementations import behaviour
from gradcheck.checks.implementations.explain import explain
from gradcheck.checks.implementations.own_rounding import OwnRounding
from gradcheck.checks.implementations.second import of_second_order_too
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points import Point, Points
from gradcheck.checks.result import Comparison, Subject, Trial
from gradcheck.engines.base import Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import Case, Generalize, Step
from gradcheck.language.problem import Problem
from gradcheck.language.random import stream
from gradcheck.language.sampling import draw
from gradcheck.language.trials import PLAIN, Variation
from gradcheck.oracles.numeric.differences import Slope, slope

if TYPE_CHECKING:
    from gradcheck.engines.implementation.engine import Implementation

#: The points: the given one, then what a trial draws, and how what is written out is moved.
_DRAWN: tuple[tuple[int | None, Variation], ...] = (
    (None, PLAIN),
    (0, Variation("near")),
    (1, Variation("anywhere")),
    (2, PLAIN),
    (None, Variation("near", structure="whole")),
    (None, Variation("near", structure="huge")),
)
#: Differences are taken for so many elements of each input, and along so many directions.
_ELEMENTS, _DIRECTIONS = 12, 2
#: A difference whose error bar is a larger part of the largest gradient decides nothing.
_BLURRED = 1e-4
#: How many of its own error bars a right gradient may be away.
_BARS = 8.0
_DIFFERENCES = "differences"


def check_alone(case: Case, engine: Implementation, witness: Implementation | None, options: Options) -> Context:
    """All that is found of the code at the case's inputs, and at others that are drawn; the graph says nothing.

    The context's reference is the witness, or the code itself where it has none.
    """
    dtype = dtypes.BY_NAME[case.dtype]
    with using_default_dtype(dtypes.real_of(dtype)), quiet():
        general = replace(case, generalize=Generalize())
        engines = Engines((engine,), witness or engine)
        points = list(_points(general, engine, engines))
        own = Points(points[0].problem, engines)
        own.own = points[0]
        own.others = points[1:]
        context = Context(points[0].problem.case, options, engines, own)
        for point in points:
            context.found += _compared(point, engine, witness)
        if any(c.status == "failed" for c in context.found):
            explain(context, engine)
            return context
        context.found += of_second_order_too(context, engine)
        context.found += behaviour.check(context, engine, OwnRounding(context, engine))
        return context


def _points(case: Case, engine: Implementation, engines: Engines) -> Iterator[Point]:
    """The inputs as they are given, then drawn, each under a random incoming gradient. What cannot be evaluated there
    is left out, but for the first."""
    for number, (trial, variation) in enumerate(_DRAWN):
        try:
            problem = draw(replace(case, steps=()), case.seed, trial, variation=variation)
        except GradcheckError:
            continue
        asked = _asked(problem, engine, is_given=not number)
        if asked is not None:
            kept = Trial(number, problem.seed, problem.sizes, problem=asked) if number else None
            yield Point(asked, engines, kept)
        elif not number:
            raise GradcheckError(f"{engine.name} cannot be evaluated")


def _asked(problem: Problem, engine: Implementation, is_given: bool) -> Problem | None:
    """The problem with a random incoming gradient for each result; None where the code raises."""
    values = engine.values_alone(problem)
    own = {n: a for n, a in values.items() if n.partition("[")[0] == engine.entry and a.dtype.kind in "fc"}
    generator = stream(problem.seed, "incoming", problem.drawn.trial or 0)
    seeds = {
        name: np.asarray(generator.standard_normal(array.shape)).astype(array.dtype) for name, array in own.items()
    }
    finite = all(np.isfinite(array).all() for array in own.values())
    if not seeds or not (finite or is_given):
        return None
    case = replace(problem.case, steps=(Step("backward", roots=dict.fromkeys(seeds)),))
    return replace(problem, case=case, seeds=(seeds,), forwards=({},))


# One point -------------------------------------------------------------------------------------------------


def _compared(point: Point, engine: Implementation, witness: Implementation | None) -> Iterator[Comparison]:
    got = point.evaluation(engine)
    error = got.error or next((state.error for state in got.states if state.error), None)
    if error is not None:
        subject = Subject(ClaimKind.CODE, engine.entry, 0, engine.name, _DIFFERENCES, trial=point.trial)
        yield subject.failed(fact("said", text=error.message))
        return
    forward = _gradients(point.evaluation(witness)) if witness is not None else {}
    for name, gradient in _gradients(got).items():
        if name in point.problem.inputs:
            yield _judged(_Claim(point, engine, name, gradient), forward.get(name))


def _gradients(evaluation: Evaluation) -> Mapping[str, np.ndarray | None]:
    return evaluation.states[0].gradients if evaluation.states and not evaluation.error else {}


@dataclass(frozen=True, slots=True)
class _Claim:
    """One input's gradient, as the code has it."""

    point: Point
    engine: Implementation
    name: str
    gradient: np.ndarray | None

    @property
    def array(self) -> np.ndarray:
        return self.point.problem.inputs[self.name]

    @property
    def values(self) -> np.ndarray | None:
        """In double precision; zeros where there is none, None where its shape is wrong."""
        if self.gradient is None:
            return np.zeros(self.array.shape)
        return wide(self.gradient) if self.gradient.shape == self.array.shape else None

    def subject(self, reference: str) -> Subject:
        engine, trial = self.engine.name, self.point.trial
        return Subject(ClaimKind.GRADIENT, self.name, 0, engine, reference, trial=trial)

    def slope(self, direction: np.ndarray) -> Slope | None:
        """How the results, weighed by what comes in, change along a direction."""
        problem, array = self.point.problem, self.array
        (seeds,) = problem.seeds
        wanted = wide(array)

        def share(t: float) -> tuple[np.ndarray, float]:
            moved = (wanted + t * direction).astype(array.dtype)
            values = self.engine.values_alone(replace(problem, inputs={**problem.inputs, self.name: moved}))
            if not values:
                raise GradcheckError("it raises near by")
            terms = [(wide(values[root]) * wide(g)).ravel() for root, g in seeds.items() if g is not None]
            return np.concatenate(terms).real, t

        size = float(np.max(np.abs(wanted[direction != 0]), initial=0.0)) or 1.0
        reach = float(np.max(np.abs(direction))) or 1.0
        try:
            return slope(share, 2.0 ** np.floor(np.log2(size / reach / 8)), max(epsilon(array.dtype), 2.0**-52))
        except (GradcheckError, ValueError, KeyError):
            return None


def _judged(claim: _Claim, forward: np.ndarray | None) -> Comparison:
    """The gradient by differences where they are clear, and by the forward where that is there."""
    got = claim.values
    if got is None or claim.array.dtype.kind == "c":
        return _by_forward(claim, forward)
    scale = float(np.max(np.abs(got), initial=0.0))
    if forward is not None and forward.shape == got.shape:
        scale = max(scale, float(np.max(np.abs(wide(forward)), initial=0.0)))
    sides_with_code, kinked = 0, False
    for direction in _directions(claim):
        found = claim.slope(direction)
        if found is None or not np.isfinite(found.error):
            continue
        mine = float(np.sum(got * direction))
        clear = found.error <= _BLURRED * max(scale, abs(found.value))
        if clear and not _agrees(mine, found, claim.array.dtype, scale):
            return _failed(claim, direction, found)
        sides_with_code += clear
        kinked |= clear and found.kinked
    if kinked:
        between = fact("between_the_sides", engine=claim.engine.name)
        told = {"shape": claim.array.shape, "elements": claim.array.size, "verdict": between}
        return replace(claim.subject(_DIFFERENCES).passed(**told), status="not_differentiable")
    return _by_forward(claim, forward, lenient=sides_with_code > 0)


def _agrees(mine: float, found: Slope, dtype: np.dtype, scale: float) -> bool:
    low, high = min(found.sides), max(found.sides)
    room = _BARS * found.error + base(dtype).rtol * max(abs(found.value), scale)
    return low - room <= mine <= high + room


def _directions(claim: _Claim) -> Iterator[np.ndarray]:
    """Some elements each alone, then all together."""
    shape, size = claim.array.shape, claim.array.size
    generator = stream(claim.point.problem.seed, "directions", claim.name)
    places = np.arange(size) if size <= _ELEMENTS else generator.choice(size, _ELEMENTS, replace=False)
    for place in places:
        one = np.zeros(size)
        one[place] = 1.0
        yield one.reshape(shape)
    if size > 1:  # what is right for each of two that are equal may add up to too much
        yield np.ones(shape)
    if size > _ELEMENTS:
        for _ in range(_DIRECTIONS):
            yield generator.standard_normal(shape)


def _failed(claim: _Claim, direction: np.ndarray, found: Slope) -> Comparison:
    """The gradient beside differences, at the element that they were taken for."""
    got = claim.values
    assert got is not None
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.abs(direction))), direction.shape))
    single = np.count_nonzero(direction) == 1
    mine = float(np.sum(got * direction))
    failed = claim.subject(_DIFFERENCES).failed(
        None if single else fact("along_a_direction"),
        shape=claim.array.shape,
        dtype=claim.array.dtype.name,
        elements=claim.array.size,
        mismatched=1,
        worst_index=place if single else None,
        got=mine,
        want=found.value,
        max_abs=abs(mine - found.value),
        max_rel=abs(mine - found.value) / abs(found.value) if found.value else float("inf"),
        atol=_BARS * found.error,
        rtol=base(claim.array.dtype).rtol,
    )
    return failed.noted(fact("differences_bar", error=found.error))


def _by_forward(claim: _Claim, forward: np.ndarray | None, lenient: bool = False) -> Comparison:
    """The gradient beside what torch makes of the forward; where differences side with the code, what is far off is the
    forward's own doing (something in it that torch does not differentiate)."""
    subject = claim.subject("its own forward")
    if forward is None or claim.engine.code.pulled is not None:
        if claim.values is None:
            assert claim.gradient is not None
            wrong = fact("shapes_differ", got=claim.gradient.shape, want=claim.array.shape)
            return subject.failed(wrong, shape=claim.array.shape)
        return claim.subject(_DIFFERENCES).passed(shape=claim.array.shape, elements=claim.array.size)
    tolerance = base(claim.array.dtype)
    slack = np.full(forward.shape, 1e3 * epsilon(claim.array.dtype) * float(np.max(np.abs(wide(forward)), initial=0.0)))
    found = compare(claim.gradient, forward, tolerance, subject, slack)
    if found.status == "failed" and lenient and found.mismatch is None:
        return subject.passed(shape=claim.array.shape, elements=claim.array.size).noted(fact("forward_not_followed"))
    return found
