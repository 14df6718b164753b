"""What a caller may rely on beyond numbers: code is asked again in other manners, and must answer as its entry does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.claims.engines import check_engine
from gradcheck.checks.claims.outcomes import place_of
from gradcheck.checks.context import Context
from gradcheck.checks.implementations import own_rules
from gradcheck.checks.implementations.chance import apart, by_chance
from gradcheck.checks.points import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.base import Evaluation
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Step
from gradcheck.language.problem import Problem
from gradcheck.language.random import stream

if TYPE_CHECKING:
    from gradcheck.engines.implementation.engine import Implementation

#: The ways of asking, in the order in which they are tried.
MANNERS = (
    *("backward_again", "called_in_between", "only_input", "all_but_input", "one_output"),
    *("incoming_strided", "incoming_expanded", "inputs_strided", "inputs_expanded", "no_grad"),
)
_SUBSETS = ("only_input", "all_but_input")
#: Of so many inputs at most each is tried alone.
_MOST_INPUTS = 6
#: How often code is asked the same.
_REPEATS = 2


class Rounding(Protocol):
    """Who knows how much the code rounds."""

    def judged(self, c: Comparison, point: Point) -> Comparison:
        """A comparison again that failed at a point; passed where rounding explains it."""
        ...


@dataclass(frozen=True, slots=True)
class _Question:
    """One way of asking: its name, the problem, the manner; whether a refusal is a failure."""

    name: str
    problem: Problem
    manner: Any
    in_between: Problem | None = None
    may_refuse: bool = False
    detail: str = ""


def check(context: Context, engine: Implementation, rounding: Rounding) -> Iterator[Comparison]:
    """A comparison for the code's behaviour: passed with what is told of it, or failed for each thing that is wrong."""
    subject = _subject(context, engine)
    changed = list(_changed(engine, subject))
    notes: list[Fact] = list(engine.notes)
    notes += [fact("keeps_state")] if engine.code.keeps_state else []
    failed: list[Comparison] = changed
    failed += _repeated(context, engine, (subject, rounding), notes)
    if not failed or changed:
        for question in _questions(context, engine):
            found = _asked(context, engine, question, (subject, rounding))
            if found is None:
                continue
            if question.may_refuse and found.mismatch is not None and found.mismatch.kind == "refuses":
                notes.append(found.mismatch)
            else:
                failed.append(found)
    if not failed:
        failed += own_rules.check(context, engine, subject, notes)
    yield from failed or [subject.passed(notes=tuple(notes))]


def of_failed(context: Context, engine: Implementation) -> Iterator[Comparison]:
    """For code that is wrong already: whether it gives the same where it is asked the same again."""
    size = by_chance(engine, context.points.own)
    if size:
        yield _subject(context, engine).failed(fact("not_the_same_again", engine=engine.name, size=size))


def _subject(context: Context, engine: Implementation) -> Subject:
    place = place_of(context.case, engine.entry)
    return Subject(ClaimKind.CODE, engine.entry, 0, engine.name, context.engines.reference.name, place)


def _changed(engine: Implementation, subject: Subject) -> Iterator[Comparison]:
    """What it changes in place, which is its caller's."""
    for what in sorted(engine.record.changed):
        if what == "incoming":
            yield subject.failed(fact("incoming_changed", engine=engine.name))
        else:
            number = int(what.rpartition(" ")[2])
            yield subject.failed(fact("argument_changed", engine=engine.name, name=engine.binding.claims[number].text))


# Again ---------------------------------------------------------------------------------------------------


def _repeated(
    context: Context, engine: Implementation, by: tuple[Subject, Rounding], notes: list[Fact]
) -> list[Comparison]:
    """The same question again: bit by bit the same, else by no more than rounding, else it is wrong."""
    subject, _ = by
    point = context.points.own
    first = point.evaluation(engine)
    for _ in range(_REPEATS):
        again = engine.evaluate(point.problem)
        size = apart(first, again)
        if size:
            found = [c for c in check_engine(point, again, context.options.tolerance) if c.status == "failed"]
            if found or not np.isfinite(size):
                return [subject.failed(fact("not_the_same_again", engine=engine.name, size=size))]
            notes.append(fact("nondeterministic", size=size))
            break
    return []


# Otherwise -------------------------------------------------------------------------------------------------


def _questions(context: Context, engine: Implementation) -> Iterator[_Question]:
    from gradcheck.engines.implementation.manner import PLAIN, Manner

    own = context.points.own.problem
    yield _Question("backward_again", _twice(own), PLAIN)
    if not engine.code.keeps_state:
        yield _Question("called_in_between", own, Manner(between=True), in_between=_moved(own))
    yield from _subsets(own)
    if len(own.seeds[0]) > 1:
        yield from _roots_alone(own)
    if engine.code.is_torch:
        yield _Question("incoming_strided", own, Manner(incoming="strided"))
        yield _Question("incoming_expanded", _of_ones(own), Manner(incoming="expanded"))
        yield _Question("inputs_strided", own, Manner(inputs="strided"), may_refuse=True)
        yield _Question("inputs_expanded", _rows_alike(own), Manner(inputs="expanded"), may_refuse=True)
        yield _Question("no_grad", own, Manner(recording=False), may_refuse=True)


def _asked(
    context: Context, engine: Implementation, question: _Question, by: tuple[Subject, Rounding]
) -> Comparison | None:
    """What is wrong with an answer; None where nothing is, or the entry itself has none. In a manner of asking it is
    what the code answers otherwise; so it is at a kink, where the convention is its own."""
    subject, rounding = by
    point = Point(question.problem, context.engines)
    is_judged = context.engines.reference is not engine
    if is_judged and (not point.want.states or point.want.error is not None):
        return None
    at_kink = any(c.status == "not_differentiable" and c.trial is None for c in context.found)
    is_again = len(question.problem.case.steps) > 1
    if at_kink or question.manner.is_other or is_again:
        own = _one_by_one(engine, question.problem) if is_again else engine.evaluate(question.problem)
        point = Point(question.problem, context.engines, evaluations={context.engines.reference.name: own})
    elif question.name in _SUBSETS and point.want.states and context.points.own.evaluation(engine).states:
        own = _of_subset(context.points.own.evaluation(engine), point.want)
        point = Point(question.problem, context.engines, evaluations={context.engines.reference.name: own})
    engine.record.changed.clear()
    got = engine.asked(question.manner, question.problem, question.in_between)
    name, manner, detail = engine.name, question.name, question.detail
    error = got.error or next((state.error for state in got.states if state.error), None)
    if not question.manner.recording:
        error = None if got.states else error
    if error is not None:
        return subject.failed(fact("refuses", engine=name, manner=manner, detail=detail, text=error.message))
    values_only = not question.manner.recording
    found = [
        rounding.judged(c, point)
        for c in check_engine(point, got, context.options.tolerance)
        if c.status == "failed" and (not values_only or c.what is ClaimKind.VALUE)
    ]
    found = [c for c in found if c.status == "failed"]
    if not found:
        return None
    worst = found[0]
    what, tensor = worst.what.value, worst.tensor
    mismatch = fact("otherwise", engine=name, manner=manner, detail=detail, what=what, tensor=tensor)
    return replace(worst, subject=subject, mismatch=mismatch)


def _of_subset(own: Evaluation, right: Evaluation) -> Evaluation:
    """What the code answers where all inputs get a gradient, of those that do now: it rounds as it did."""
    (mine,), (theirs,) = own.states, right.states
    kept = {name: None if g is None else mine.gradients.get(name, g) for name, g in theirs.gradients.items()}
    return replace(own, states=(replace(mine, gradients=kept),))


def _one_by_one(engine: Implementation, problem: Problem) -> Evaluation:
    """What two backward passes come to, each over a graph of its own."""
    first, _, last = problem.case.steps
    found = []
    for step, seeds in ((first, problem.seeds[0]), (last, problem.seeds[2])):
        alone = replace(problem, case=replace(problem.case, steps=(step,)), seeds=(seeds,), forwards=({},))
        found.append(engine.evaluate(alone))
    if not all(one.states for one in found):
        return found[0]
    one, other = (evaluation.states[0] for evaluation in found)
    return replace(found[0], states=(one, replace(one, gradients=dict.fromkeys(one.gradients)), other))


def _twice(problem: Problem) -> Problem:
    """Two backward passes over the same graph, the second under other incoming gradients."""
    (step,), (seeds,) = problem.case.steps, problem.seeds
    generator = stream(problem.seed, "backward again")
    others = {n: None if g is None else _scaled(g, generator.uniform(0.5, 2.0)) for n, g in seeds.items()}
    steps = (step, Step("zero_grad", place=step.place), step)
    case = replace(problem.case, steps=steps)
    return replace(problem, case=case, seeds=(seeds, {}, others), forwards=({}, {}, {}))


def _scaled(array: np.ndarray, factor: float | np.ndarray) -> np.ndarray:
    return np.asarray(array * factor).astype(array.dtype)


def _moved(problem: Problem) -> Problem:
    """The same with other numbers."""
    generator = stream(problem.seed, "in between")
    moved = {name: _scaled(array, generator.uniform(0.5, 0.9, array.shape)) for name, array in problem.inputs.items()}
    return replace(problem, inputs=moved)


def _subsets(problem: Problem) -> Iterator[_Question]:
    """Each input alone that gets a gradient, and each alone that gets none."""
    from gradcheck.engines.implementation.manner import PLAIN

    names = [name for name, array in problem.inputs.items() if dtypes.is_differentiable(array.dtype)]
    if 1 < len(names) <= _MOST_INPUTS:
        for name in names:
            rest = [other for other in names if other != name]
            yield _Question("only_input", _with_gradients(problem, [name]), PLAIN, detail=name)
            if len(names) > 2:
                yield _Question("all_but_input", _with_gradients(problem, rest), PLAIN, detail=name)


def _with_gradients(problem: Problem, names: list[str]) -> Problem:
    """The same where only these inputs get a gradient."""
    case = problem.case
    others = {name: value for name, value in case.inputs.items() if name not in names}
    kept = {name: value for name, value in case.inputs.items() if name in names}
    return replace(
        problem,
        case=replace(case, inputs=kept, constants={**case.constants, **others}),
        inputs={name: array for name, array in problem.inputs.items() if name in names},
        constants={**problem.constants, **{name: problem.inputs[name] for name in others}},
    )


def _roots_alone(problem: Problem) -> Iterator[_Question]:
    """Of several outputs, each alone that gets an incoming gradient."""
    from gradcheck.engines.implementation.manner import PLAIN

    (step,), (seeds,) = problem.case.steps, problem.seeds
    for root in seeds:
        one = replace(step, roots={root: step.roots[root]})
        case = replace(problem.case, steps=(one,))
        yield _Question("one_output", replace(problem, case=case, seeds=({root: seeds[root]},)), PLAIN, detail=root)


def _of_ones(problem: Problem) -> Problem:
    """The same where all that comes in is 1, as from a sum."""
    (seeds,) = problem.seeds
    return replace(problem, seeds=({n: None if g is None else np.ones_like(g) for n, g in seeds.items()},))


def _rows_alike(problem: Problem) -> Problem:
    """The same where all rows of an input are its first."""
    alike = {
        name: np.broadcast_to(array[:1], array.shape).copy() if array.ndim and array.size else array
        for name, array in problem.inputs.items()
    }
    return replace(problem, inputs=alike)
