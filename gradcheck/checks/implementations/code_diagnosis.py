"""Diagnose why gradients of user code are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.closeness.tolerance import base, epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.failures.correction.computed_formula import ComputedFormulas, EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, matches
from gradcheck.checks.failures.gather_evidence import with_graph
from gradcheck.checks.failures.point_failures import diagnose
from gradcheck.checks.failures.size_factor import express_in_sizes, ratio_of
from gradcheck.checks.implementations.behaviour import unwritten_at
from gradcheck.checks.implementations.code_changes import changed_in_place, is_change, summed_again
from gradcheck.checks.implementations.code_gradient import CodeGradient, DifferencesEngine
from gradcheck.checks.implementations.code_noise import CodeNoise
from gradcheck.checks.implementations.finite_difference_check import compare_with_differences
from gradcheck.checks.implementations.gradient_relations import (
    divisor_mistakes,
    find_relations,
    linear_mistakes,
    whole_to_each_of_equals,
)
from gradcheck.checks.implementations.loop_mistakes import loop_mistakes, result_mistakes
from gradcheck.checks.implementations.op_mistakes import find_op_mistakes, look_alikes
from gradcheck.checks.implementations.second_order import exceeds_rounding
from gradcheck.checks.isolation.failure_capture import try_part
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.errors import Place
from gradcheck.facts import Fact, fact
from gradcheck.language.case import StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.random_streams import stream

#: How many gradients are diagnosed, at how many points each.
_MOST, _POINTS = 4, 3
#: The fewest elements whose relation at one point is no chance.
_FEWEST = 4
#: The number of points beside ties, and how near they are, relative to the largest number.
_BESIDE_TIES, _BESIDE = 8, 2.0**-10
#: How many times the error of differences counts, as rows of it are summed.
_BARS = 16.0
#: The number of further points with other sizes.
_SIZES = 2
#: Mistakes that look like others where an op is linear.
_AS_IN_A_PART = ("incoming_passed_on", "forward_value")
_EXPLAINED = (ClaimKind.GRADIENT, ClaimKind.VALUE)
#: The libraries that do not conjugate derivatives of complex numbers, by the kind of code.
_LIBRARIES = {"jax": "JAX", "hips": "autograd"}
#: Inputs move by so many units, but not by a larger part; a smooth error changes by less than this part of itself.
_UNITS, _FARTHEST, _MOST_CHANGE = 16.0, 1 / 16, 0.5


def diagnose_code(context: Context, engine: CodeEngine) -> None:
    """Add diagnoses to failed comparisons."""
    file, line = engine.code.place
    place = Place(file, line, 1) if file else None
    if not context.options.explained:
        return
    done: set[tuple[ClaimKind, str]] = set()
    formulas = ComputedFormulas(context, engine.code.constants)
    for number, c in enumerate(context.found):
        if c.status != "failed":
            continue
        summed = engine.observations.summed_gradients.get(c.tensor, ())[:1]  # the note on it
        c = context.found[number] = replace(c.with_notes(*summed), code=place)
        is_nonfinite = c.mismatch is not None and c.mismatch.kind == "nonfinite_gradient"
        if c.what in _EXPLAINED and not is_nonfinite and (c.what, c.tensor) not in done and len(done) < _MOST:
            done.add((c.what, c.tensor))
            try_part("cause", partial(_add_diagnoses, formulas, engine, c, number), context.failed_explanations)


def _add_diagnoses(formulas: ComputedFormulas, engine: CodeEngine, c: Comparison, number: int) -> None:
    formulas.context.found[number] = replace(c, diagnoses=_diagnosed(formulas, engine, c))


def _diagnosed(formulas: ComputedFormulas, engine: CodeEngine, c: Comparison) -> tuple[Diagnosis, ...]:
    context = formulas.context
    conjugated = tuple(conjugated_rule(engine, context.points.at(c.trial), c))
    if conjugated:
        return conjugated
    unwritten = unwritten_at(engine, [context.points.at(c.trial)])
    if unwritten is not None and c.tensor in unwritten[1]["names"]:
        return (Diagnosis("not_written", unwritten[1], "confirmed"),)
    seen = list(_evidence(context, engine, c))
    changed = changed_in_place(engine, c, seen)
    if changed and (is_change(c) or changed[0].confidence == "confirmed"):
        return () if is_change(c) else changed
    found = summed_again(engine, seen) or diagnose(evidence for _, evidence in seen)
    are_given = all(value.expr is None for value in context.case.inputs.values())
    if found[0].kind == "unknown" and are_given and seen and seen[0][1].want.size >= _FEWEST:
        found = diagnose([seen[0][1]])  # given arrays may be symmetric, or orthogonal, and are not when they move
    if any(one.kind in _AS_IN_A_PART for one in found):  # of one branch, perhaps: others may contradict it
        found = diagnose(e for _, e in [*seen, *_evidence_at_other_sizes(context, engine, c)])
    if any(one.kind in ("factor", "mean_for_sum") for one in found):
        everywhere = [*seen, *_evidence_at_other_sizes(context, engine, c)]
        ratios = [ratio_of(e.got_or_zeros, e.want, point.problem.sizes) for point, e in everywhere]
        found = express_in_sizes(found, [one for one in ratios if one is not None])
    if found[0].kind == "unknown" or found[0].message.kind == "off_by_factor":
        found = divisor_mistakes(seen) or found
    found = _without_smooth_rounding(engine, c, seen, found)
    if found[0].kind in ("unknown", "use_dropped", "path_dropped", *_AS_IN_A_PART) and c.what is ClaimKind.GRADIENT:
        found = _whole_at_ties(context, engine, c) or result_mistakes(c.tensor, seen) or found
    is_unsure = found[0].kind == "unknown" or (found[0].kind == "dtype" and found[0].confidence == "possible")
    if is_unsure and len(context.case.steps) == 1:
        found = _diagnose_precision(engine, seen) or _find_mistakes(formulas, engine, c, seen) or found
    return changed if changed and found[0].kind == "unknown" else found


def _find_mistakes(
    formulas: ComputedFormulas, engine: CodeEngine, c: Comparison, seen: EvidenceAtPoints
) -> tuple[Diagnosis, ...]:
    """Return mistakes of ops or formulas, at other sizes too, or relations."""
    found = find_op_mistakes(c.tensor, seen) if c.what is ClaimKind.GRADIENT else ()
    if found:
        return found
    everywhere = [*seen, *_evidence_at_other_sizes(formulas.context, engine, c)]
    found = (look_alikes(c, everywhere) if c.what is ClaimKind.GRADIENT else ()) or formulas.diagnose(c, everywhere)
    if found or c.what is not ClaimKind.GRADIENT:
        return found
    found = loop_mistakes(c.tensor, seen)
    if not found:
        moved = [*_evidence_elsewhere(formulas.context, engine, c)]
        found = find_relations(c.tensor, [*seen, *moved]) or find_relations(c.tensor, [*everywhere, *moved])
    return found or linear_mistakes(c.tensor, engine, seen) or _diagnose_nonlinearity(engine, c, seen)


def _without_smooth_rounding(
    engine: CodeEngine, c: Comparison, seen: EvidenceAtPoints, found: tuple[Diagnosis, ...]
) -> tuple[Diagnosis, ...]:
    """Return the diagnoses without a precision whose error is not of rounding."""
    guessed = [d for d in found if d.kind == "dtype" and d.confidence == "possible"]
    names = {name for d in guessed for name in [_guessed_dtype(d.message)] if name}
    if not names or c.what is not ClaimKind.GRADIENT or not all(is_smooth(engine, c, seen, name) for name in names):
        return found
    left = tuple(d for d in found if d not in guessed)
    tried = ("dtype",)
    return left or (Diagnosis("unknown", fact("nothing_explains_it", tried=tried), tried=tried),)


def _guessed_dtype(message: Fact) -> str:
    """Return the dtype in which a gradient is perhaps computed."""
    data = dict(message.data)
    return _guessed_dtype(data["what"]) if "what" in data else str(data.get("dtype", ""))


def _diagnose_precision(engine: CodeEngine, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    if not engine.code.is_torch or not seen or not (name := engine.less_precision(seen[0][0].problem)):
        return ()
    rtol = base(dtypes.BY_NAME[name]).rtol
    if all(_is_within(evidence, rtol) for _, evidence in seen):
        return (Diagnosis("dtype", fact("computed_in_dtype", dtype=name, exact=False), "possible"),)
    return ()


def _is_within(evidence: Evidence, rtol: float) -> bool:
    got, want = evidence.got, evidence.want
    if got is None or got.shape != want.shape:
        return False
    off, size = np.max(np.abs(wide(got) - wide(want)), initial=0.0), np.max(np.abs(wide(want)), initial=0.0)
    return bool(off <= rtol * size)


def _whole_at_ties(context: Context, engine: CodeEngine, c: Comparison) -> tuple[Diagnosis, ...]:
    """Return whether code that is right nearby is wrong where numbers tie."""
    own = context.points.at(c.trial)
    array = own.problem.inputs.get(c.tensor)
    if array is None or np.unique(array).size == array.size:
        return ()
    points = [own, *(_beside(own, c.tensor, number) for number in range(_BESIDE_TIES))]
    found = [point.evaluation(engine).state(c.step).gradients.get(c.tensor) for point in points]
    gradients = [one for one in found if one is not None and one.shape == array.shape]
    if len(gradients) < len(points):
        return ()
    whole = whole_to_each_of_equals(gradients[0], np.stack(gradients[1:]))
    nearby = _evidence_at(points[1], engine, c) if whole else None
    return whole if nearby is None or matches(nearby.want, nearby) else ()


def _beside(point: Point, name: str, number: int) -> Point:
    """Return the point with a tensor moved a little, so that nothing ties."""
    array = point.problem.inputs[name]
    way = stream(point.problem.seed, "beside", number).standard_normal(array.shape)
    moved = (wide(array) + _BESIDE * largest_finite(array) * way).astype(array.dtype)
    return Point(replace(point.problem, inputs={**point.problem.inputs, name: moved}), point.engines, point.trial)


def _diagnose_nonlinearity(engine: CodeEngine, c: Comparison, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return whether the gradient is not linear in the incoming one."""
    for point, evidence in seen:
        problem = point.problem
        doubled = tuple(
            {name: None if g is None else np.asarray(g * g.dtype.type(2)) for name, g in seeds.items()}
            for seeds in problem.seeds
        )
        twice = engine.evaluate(replace(problem, seeds=doubled)).state(c.step).gradients.get(c.tensor)
        if twice is None or evidence.got is None or twice.shape != evidence.got.shape:
            return ()
        off = float(np.max(np.abs(wide(twice) - 2 * wide(evidence.got)), initial=0.0))
        if np.isfinite(off) and exceeds_rounding(off, float(np.max(np.abs(wide(twice)), initial=0.0)), twice.dtype):
            return (Diagnosis("not_linear", fact("rule_is_not_linear"), "confirmed"),)
    return ()


def _evidence_at_other_sizes(context: Context, engine: CodeEngine, c: Comparison) -> Iterator[tuple[Point, Evidence]]:
    own = [context.points.at(c.trial).problem.sizes]
    for point in context.points.other_points:
        is_new = point.problem.sizes not in own and len(own) <= _SIZES
        if is_new and (found := _evidence_at(point, engine, c)) is not None:
            own.append(point.problem.sizes)
            yield point, found


def _evidence_elsewhere(context: Context, engine: CodeEngine, c: Comparison) -> Iterator[tuple[Point, Evidence]]:
    """Yield the evidence with the tensor's numbers in other places.

    Elements that are wrong for their numbers are then wrong there."""
    own = context.points.at(c.trial)
    array = own.problem.inputs.get(c.tensor)
    if array is not None and array.size > 1:
        inputs = {**own.problem.inputs, c.tensor: np.roll(array, 1)}
        point = Point(replace(own.problem, inputs=inputs), own.engines, own.trial)
        if (found := _evidence_at(point, engine, c)) is not None:
            yield point, found


def _evidence(context: Context, engine: CodeEngine, c: Comparison) -> Iterator[tuple[Point, Evidence]]:
    own = context.points.at(c.trial)
    for number in range(_POINTS):
        point = context.points.nearby_point(own, number)
        found = _evidence_at(point, engine, c)
        if found is not None:
            yield point, found


def _evidence_at(point: Point, engine: CodeEngine, c: Comparison) -> Evidence | None:
    got, want = point.evaluation(engine), point.want
    if c.step >= min(len(got.states), len(want.states)):
        return None
    if c.what is ClaimKind.VALUE:
        judge = want.states[c.step].values.get(c.tensor)
        return None if judge is None else Evidence(got.states[c.step].values.get(c.tensor), judge)
    right, mine = want.states[c.step].gradients, got.states[c.step].gradients
    judge = right.get(c.tensor)
    if judge is None:
        return None
    got_array = mine.get(c.tensor)
    shapes = {judge.shape, judge.shape if got_array is None else got_array.shape}
    inputs = point.problem.inputs
    alike = [n for n in right if n != c.tensor and (n not in inputs or inputs[n].shape in shapes)]
    others = {name: g for name in alike if (g := right[name]) is not None}
    seeds = {root: others.pop(root) for root in point.problem.seeds[c.step] if root in others}
    stated = (point.problem.case.engine_tolerance or StatedTolerance()).rtol or 0.0
    evidence = Evidence(got_array, judge, others=others, seeds=seeds, rounding_rtol=stated)
    reference = point.engines.reference
    if isinstance(reference, DifferencesEngine):
        alone = reference.with_ones(point.problem, c.tensor)
        reseeded = {} if alone is None else {fact("ones_in_its_place"): alone}
        return replace(evidence, rounding_rtol=max(stated, _BARS * reference.error), reseeded=reseeded)
    is_placeholder = isinstance(reference, type(engine))  # the graph only stands for the code's forward
    return evidence if is_placeholder else with_graph(evidence, c.tensor, point)


def conjugated_rule(engine: CodeEngine, point: Point, c: Comparison) -> Iterator[Diagnosis]:
    """Yield the diagnosis that a rule conjugates the derivative.

    For `f(z)` these libraries pull `g` back to `g * f'(z)`, and torch to `g * conj(f'(z))`: the results are those that
    torch would expect, which finite differences confirm."""
    library = _LIBRARIES.get(engine.code.kind, "")
    problem = point.problem
    got = point.evaluation(engine).state(c.step).gradients.get(c.tensor)
    if not library or c.what is not ClaimKind.GRADIENT or got is None or len(problem.seeds) > 1:
        return
    arrays = (got, *(seed for seed in problem.seeds[0].values() if seed is not None))
    if all(array.dtype.kind != "c" for array in arrays) or c.tensor not in problem.inputs:
        return
    seeds = {name: None if seed is None else np.asarray(np.conj(seed)) for name, seed in problem.seeds[0].items()}
    conjugated = Point(replace(problem, seeds=(seeds,)), point.engines, point.trial)
    claim = CodeGradient(conjugated, engine, c.tensor, np.asarray(np.conj(got)), CodeNoise(engine))
    if all(one.status == "passed" for one in compare_with_differences([(claim, None)])):
        yield Diagnosis("conjugate", fact("conjugated_for_torch", library=library), "confirmed")


def is_smooth(engine: CodeEngine, c: Comparison, seen: EvidenceAtPoints, dtype: str) -> bool:
    """Return whether the error stays nearly the same where inputs move.

    Rounding differs where inputs move by some units of the dtype; a wrong formula's error hardly changes."""
    if not seen:
        return False
    point, evidence = seen[0]
    if evidence.got is None or evidence.got.shape != evidence.want.shape:
        return False
    factor = 1 + min(_UNITS * epsilon(dtypes.BY_NAME[dtype]), _FARTHEST)
    inputs = {
        n: np.asarray(a * a.dtype.type(factor)) if a.dtype.kind in "fc" else a for n, a in point.problem.inputs.items()
    }
    moved = Point(replace(point.problem, inputs=inputs), point.engines)
    pair = (moved.evaluation(engine), moved.want)
    one, other = (found.state(c.step).gradients.get(c.tensor) for found in pair)
    if one is None or other is None or one.shape != evidence.want.shape:
        return False
    before, after = wide(evidence.got) - wide(evidence.want), wide(one) - wide(other)
    return bool(np.linalg.norm(after - before) < _MOST_CHANGE * np.linalg.norm(before))
