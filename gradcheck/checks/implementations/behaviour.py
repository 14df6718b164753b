"""Check behaviour beyond numbers: code is called in other ways, too."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.evaluations import check_engine, engine_subject
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.call_variants import EDGE_SHAPE_VARIANTS, SUBSETS, CallVariant, call_variants
from gradcheck.checks.implementations.code_noise import CodeNoise, largest_difference, nondeterminism_of, tensors_of
from gradcheck.checks.implementations.code_rounding import CodeRounding
from gradcheck.checks.implementations.second_order import check_rules
from gradcheck.checks.implementations.undefined_derivatives import is_undefined
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.base import Evaluation
from gradcheck.engines.double_precision import double_precision_backend, double_precision_problem
from gradcheck.engines.implementation.binding import argument_name
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_kinds import differentiable_forward
from gradcheck.engines.implementation.code_run import PLAIN_CALL
from gradcheck.engines.implementation.operand_dtypes import forward_rounds, operand_gradients
from gradcheck.engines.torch import Torch
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem

#: How often an evaluation is repeated, and at how many other points unwritten memory is looked for.
_REPEATS, _MOST_POINTS = 2, 4
#: The allowance in units of the dtype, over the largest element, and in units of the measured rounding.
_UNITS, _MARGIN, _DRAWS = 256.0, 64.0, 3


def check(context: Context, engine: CodeEngine, rounding: CodeNoise | CodeRounding) -> Iterator[Comparison]:
    """Yield a passing comparison with notes, or each failure of behaviour."""
    subject = _subject(context, engine)
    notes: list[Fact] = list(engine.notes)
    notes += [fact("keeps_state")] if engine.code.keeps_state else []
    changed = [*_check_modified_arguments(engine, subject), *_check_modified_inputs(context, engine, subject, notes)]
    failed = [*changed, *check_operand_precision(context, engine, subject)]
    failed += _check_unwritten(context, engine, [context.points.own, *context.points.variants[-_MOST_POINTS:]])
    failed += _check_repeatability(context, engine, notes)
    if not failed or changed:
        for variant in call_variants(context, engine):
            with _ignore_warnings(variant.name in EDGE_SHAPE_VARIANTS):
                found = _check_variant(context, engine, variant, rounding)
            if found is None:
                continue
            assert found.mismatch is not None
            is_refusal = found.mismatch.kind == "refuses" or (variant.name == "empty" and is_undefined(found))
            if variant.is_only_noted or (variant.may_refuse and is_refusal):
                notes.append(found.mismatch)
            else:
                failed.append(found)
    if not failed:
        failed += check_rules(context, engine, subject, notes)
        with _ignore_warnings():
            notes += _integer_notes(context, engine)
    yield from failed or [subject.passed(notes=tuple(notes))]


@contextmanager
def _ignore_warnings(really: bool = True) -> Iterator[None]:
    with warnings.catch_warnings():
        if really:
            warnings.simplefilter("ignore")
        yield


def check_determinism(context: Context, engine: CodeEngine) -> list[Comparison]:
    """Return a failure if wrong code returns unwritten memory, or varies.

    Nothing else can be concluded about such code."""
    unwritten = _check_unwritten(context, engine, [context.points.own])
    if unwritten:
        return unwritten
    size = nondeterminism_of(engine, context.points.own)
    wrong = fact("not_the_same_again", engine=engine.name, size=size)
    return [_subject(context, engine).failed(wrong)] if size else []


def _check_unwritten(context: Context, engine: CodeEngine, points: Iterable[Point]) -> list[Comparison]:
    found = unwritten_at(engine, points)
    return [] if found is None else [replace(_subject(context, engine), trial=found[0].trial).failed(found[1])]


def _subject(context: Context, engine: CodeEngine) -> Subject:
    return engine_subject(context.points.own, ClaimKind.CODE, engine.entry, engine)


def _check_modified_arguments(engine: CodeEngine, subject: Subject) -> Iterator[Comparison]:
    """Yield a failure for each argument that the code changed in place."""
    for what in sorted(engine.observations.changed_arguments):
        if what == "incoming":
            yield subject.failed(fact("incoming_changed", engine=engine.name))
        else:
            number = int(what.rpartition(" ")[2])
            name = argument_name(engine.code.foreign, engine.binding, number)
            yield subject.failed(fact("argument_changed", engine=engine.name, name=name))


def _check_modified_inputs(
    context: Context, engine: CodeEngine, subject: Subject, notes: list[Fact]
) -> Iterator[Comparison]:
    """Yield a failure for each input that the forward changed in place.

    One without a gradient, such as running statistics, is noted. With a specification that is compared elsewhere."""
    own = context.points.own.evaluation(engine)
    for name in () if context.case.implementations else own.changed:
        changed = fact("argument_changed", engine=engine.name, name=name)
        if own.states and own.states[0].gradients.get(name) is None:
            notes.append(changed)
        else:
            yield subject.failed(changed)


def _check_repeatability(context: Context, engine: CodeEngine, notes: list[Fact]) -> list[Comparison]:
    """Return a failure if repeated evaluations differ beyond rounding."""
    point = context.points.own
    first = point.evaluation(engine)
    for _ in range(_REPEATS):
        again = engine.evaluate(point.problem)
        size = largest_difference(first, again)
        if size:
            found = [c for c in check_engine(point, again, context.options.tolerance) if c.status == "failed"]
            if found or not np.isfinite(size):
                return [_subject(context, engine).failed(fact("not_the_same_again", engine=engine.name, size=size))]
            notes.append(fact("nondeterministic", size=size))
            break
    return []


def _integer_notes(context: Context, engine: CodeEngine) -> Iterator[Fact]:
    own = context.points.own.problem
    if not context.case.implementations or any(array.dtype.kind not in "fV" for array in own.inputs.values()):
        return
    whole = {name: np.asarray(np.rint(dtypes.wide(array)), np.int64) for name, array in own.inputs.items()}
    problem = replace(own, inputs=whole)
    right = context.engines.reference.evaluate(problem).states
    want = {} if not right else {n: a for n, a in right[0].values.items() if n.partition("[")[0] == engine.entry}
    if not want or not all(np.isfinite(dtypes.wide(array)).all() for array in want.values()):
        return
    got = engine.values_alone(problem)
    if not got:
        yield fact("refuses_integers", engine=engine.name)
    elif not all(n in got and got[n].shape == a.shape and np.allclose(got[n], a) for n, a in want.items()):
        yield fact("integers_otherwise", engine=engine.name)


def _check_variant(
    context: Context, engine: CodeEngine, variant: CallVariant, rounding: CodeNoise | CodeRounding
) -> Comparison | None:
    """Return the failure of one call variant, or None.

    The entry is the reference. For variants that change only the call, and at a kink, where conventions differ, the
    code's own plain call is."""
    subject, known = _subject(context, engine), context.points.own
    is_known = variant.problem is known.problem
    point = known if is_known else Point(variant.problem, context.engines)
    is_judged = context.engines.reference is not engine
    if is_judged and (not point.want.states or point.want.error is not None):
        return None
    is_at_kink = any(c.status == "not_differentiable" and c.trial is None for c in context.found)
    is_again = len(variant.problem.case.steps) > 1
    if is_at_kink or variant.mode != PLAIN_CALL or is_again or any(c.passes_by_wrong_reference for c in context.found):
        if is_again:
            own = _evaluate_passes_apart(engine, variant.problem)
        else:
            own = known.evaluation(engine) if is_known else engine.evaluate(variant.problem)
        point = Point(variant.problem, context.engines, evaluations={context.engines.reference.name: own})
    elif variant.name in SUBSETS and point.want.states and known.evaluation(engine).states:
        own = _restricted_gradients(known.evaluation(engine), point.want, variant.problem.inputs)
        point = Point(variant.problem, context.engines, evaluations={context.engines.reference.name: own})
    engine.observations.changed_arguments.clear()
    got = engine.evaluate_in_mode(variant.mode, variant.problem, variant.in_between)
    name, manner, detail = engine.name, variant.name, variant.detail
    error = got.error or next((state.error for state in got.states if state.error), None)
    if error is not None and (variant.mode.records_graph or not got.states):
        return subject.failed(fact("refuses", engine=name, manner=manner, detail=detail, text=error.message))
    got = replace(got, changed={})  # the same as in a plain call
    failed = [c for c in check_engine(point, got, context.options.tolerance) if c.status == "failed"]
    for c in failed:
        is_of_input = variant.mode.records_graph and c.tensor.partition("[")[0] != engine.entry
        if c.what is ClaimKind.VALUE or is_of_input:
            found = rounding.allow_rounding(c, point)
            if found.status == "failed":
                what, tensor = found.what.value, found.tensor
                mismatch = fact("otherwise", engine=name, manner=manner, detail=detail, what=what, tensor=tensor)
                return replace(found, subject=subject, mismatch=mismatch)
    return None


def _restricted_gradients(own: Evaluation, right: Evaluation, inputs: Collection[str]) -> Evaluation:
    """Return the code's own gradients of the inputs that now have one.

    The forward alone may have none, where torch does not record it."""
    (mine,), (theirs,) = own.states, right.states
    gone = {name for name, g in theirs.gradients.items() if g is None and name not in inputs}
    kept = {n: None if n in gone else mine.gradients.get(n, g) for n, g in theirs.gradients.items()}
    return replace(own, states=(replace(mine, gradients=kept),))


def _evaluate_passes_apart(engine: CodeEngine, problem: Problem) -> Evaluation:
    first, _, last = problem.case.steps
    found = []
    for step, seeds in ((first, problem.seeds[0]), (last, problem.seeds[2])):
        alone = replace(problem, case=replace(problem.case, steps=(step,)), seeds=(seeds,), forwards=({},))
        found.append(engine.evaluate(alone))
    if not all(one.states for one in found):
        return found[0]
    one, other = (evaluation.states[0] for evaluation in found)
    return replace(found[0], states=(one, replace(one, gradients=dict.fromkeys(one.gradients)), other))


def unwritten_tensors(engine: CodeEngine, point: Point) -> tuple[str, ...]:
    """Return the tensors with elements that the code does not write.

    They hold what was in memory before, which may be the right numbers of an earlier call."""
    if not engine.code.is_torch:
        return ()
    before, after = tensors_of(point.evaluation(engine)), tensors_of(engine.evaluate_with_nan_memory(point.problem))
    found = {key: (array, before[key]) for key, array in after.items() if key in before}
    nan = {name: _is_nan_instead(*pair) for (_, _, name), pair in found.items()}
    return tuple(name for name, is_nan in nan.items() if is_nan)


def _is_nan_instead(now: np.ndarray, before: np.ndarray) -> bool:
    return now.shape == before.shape and bool(np.any(np.isnan(now) & ~np.isnan(before)))


def unwritten_at(engine: CodeEngine, points: Iterable[Point]) -> tuple[Point, Fact] | None:
    """Return the first point with unwritten elements, and the fact; or None."""
    for point in points:
        names = unwritten_tensors(engine, point)
        if names:
            return point, fact("not_written", engine=engine.name, names=names)
    return None


def check_operand_precision(context: Context, engine: CodeEngine, subject: Subject) -> Iterator[Comparison]:
    """Yield a failure for each gradient that is less precise than its operand.

    What torch rounds where it differentiates the forward in the same dtypes, a backward may round, too."""
    stated = context.options.tolerance or context.case.engine_tolerance
    if not engine.binding.operand_dtypes or engine.observations.autocast_dtype or stated is not None:
        return
    problem = context.points.own.problem
    if forward_rounds(engine, problem):
        return
    right = _right_gradients(context, engine, problem)
    for name, got in operand_gradients(engine, problem).items():
        want, noise = right.get(name, (None, 0.0))
        is_rounded = np.array_equal(wide(got.astype(problem.dtype)), wide(got))
        if want is None or want.shape != got.shape or not (noise or is_rounded):
            continue
        size, largest = (float(np.max(np.abs(one), initial=0.0)) for one in (wide(got) - want, want))
        if size > _UNITS * epsilon(got.dtype) * largest + _MARGIN * noise:
            own, dtype = got.dtype.name, problem.dtype.name
            yield subject.failed(fact("rounded_operand", name=name, size=size, largest=largest, own=own, dtype=dtype))


def _right_gradients(context: Context, engine: CodeEngine, problem: Problem) -> dict[str, tuple[np.ndarray, float]]:
    """Return torch's gradients of the forward, with noise, else the entry's."""
    found = _gradients_of_forward(engine, problem)
    backend = context.engines.reference
    if found or type(backend) is not Torch:
        return found
    states = double_precision_backend(backend).evaluate(double_precision_problem(problem)).states
    gradients = states[0].gradients if states else {}
    return {name: (wide(one), 0.0) for name, one in gradients.items() if one is not None}


def _gradients_of_forward(engine: CodeEngine, problem: Problem) -> dict[str, tuple[np.ndarray, float]]:
    """Return them with their noise; none if torch does not record the forward."""
    code = differentiable_forward(engine.code, of_kept=True)
    if code is None:
        return {}
    forward = type(engine)("its own forward", engine.entry, code, engine.binding, engine.device)
    try:
        at_rest = operand_gradients(forward, problem)
        moved = [operand_gradients(forward, problem, seed) for seed in range(_DRAWS if at_rest else 0)]
    except GradcheckError:
        return {}
    return {
        name: (wide(one), max(float(np.max(np.abs(wide(now[name]) - wide(one)), initial=0.0)) for now in moved))
        for name, one in at_rest.items()
    }
