"""Check gradients of gradients, forward mode, and rules for `vmap`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims import second_order
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import base, engine_tolerance, epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.implementation_case import second_order_case
from gradcheck.checks.implementations.undefined_derivatives import is_undefined, kinks_along
from gradcheck.checks.options import Engines
from gradcheck.checks.points.drawing import Points, scaled_problem
from gradcheck.checks.result import Comparison, Diagnosis, Subject
from gradcheck.engines.define_by_run import DefineByRun, last_backward_step
from gradcheck.engines.double_precision import double_precision_problem
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.jvp_vmap_rules import VmapError, code_tangents, rules_of, vmap_results
from gradcheck.engines.implementation.saved_tensors import (
    gradients_with_intermediates_of,
    recorded_gradients,
    saved_intermediates,
)
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, StatedTolerance
from gradcheck.language.expr.traverse import ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import random_direction, random_directions, stream

#: Rounding of second order: a part of the largest element, or so many roots of the unit.
_PART, _ROOTS = 1e-7, 4.0
#: The same where it is measured by differences.
_NEAR = 1e-4
#: Named factors between a wrong and the right tangent.
_FACTORS = (0.0, -1.0, 2.0, 0.5)


def check_second_order(context: Context, engine: CodeEngine) -> list[Comparison]:
    """Check second order, unless at a kink or with rounding code.

    It is claimed for no code whose backward records nothing, and by no specification with `detach`, which states the
    first order by convention. Without a specification, it is claimed for the gradients that the backward records, and
    held to differences of the first order."""
    own = [c for c in context.found if c.trial is None]
    is_clear = not any(c.status == "not_differentiable" or c.has_note("own_rounding") for c in own)
    has_detach = any("detach" in ops_in(claim.expr) for claim in context.case.graph.values())
    is_followed = engine.code.is_torch or hasattr(engine.code.foreign, "gradients")
    if not is_followed or not is_clear or has_detach:
        return []
    first = context.points.own.problem
    problem = second_order_problem(context.case, first)
    case, incoming = problem.case, problem.inputs.keys() - first.inputs.keys()
    alone = not context.case.implementations
    engines = Engines((engine,), engine) if alone else context.engines
    recorded = recorded_gradients(engine, problem) if incoming and context.options.order == 2 else {}
    unrecorded = [name for name, is_recorded in recorded.items() if not is_recorded]
    engine.observations.unrecorded_gradients = tuple(unrecorded)
    if unrecorded and not any(recorded.get(name) for name in first.inputs):
        return []
    if alone and incoming:
        raised = double_precision_problem(problem)
        if raised is not problem and engine.less_precision(raised):  # it rounds where differences are taken
            return []
    second = Context(case, context.options, engines, Points(problem, engines))
    if not second_order.applies(second):
        return []
    found = second_order.check(second, confirmed=alone, unprobed=unrecorded if alone else ())
    found = [c for c in found if c.tensor in case.inputs]
    found = [c for c in found if alone or c.mismatch is None or c.mismatch.kind != "differences_disagree"]
    found = [c for c in found if c.status != "undecided"]
    part = float(
        np.sqrt((context.case.engine_tolerance or StatedTolerance()).rtol or 0.0)
    )  # what a derivative makes of it
    found = [c for c in found if c.status != "failed" or differs(c.got_array, c.want_array, problem.dtype, part)]
    if any(c.status == "failed" and is_undefined(c) for c in found) and _is_at_kink(context):
        found = [c for c in found if c.status != "failed" or not is_undefined(c)]
    return [_explained(second, engine, c, c.tensor in incoming) if c.status == "failed" else c for c in found]


def second_order_problem(case: Case, problem: Problem) -> Problem:
    """Return the problem with its incoming gradients as further inputs."""
    case = second_order_case(case, problem)
    incoming = {name: value.array for name, value in case.inputs.items() if name not in problem.inputs}
    if not incoming:
        return replace(problem, case=case)
    seeds = ({"total_": None},)
    return replace(problem, case=case, inputs={**problem.inputs, **incoming}, seeds=seeds)


def probes_of(problem: Problem) -> dict[str, np.ndarray]:
    """Return the directions along which first gradients are differentiated."""
    return dict(random_directions(problem.inputs, stream(problem.seed, "probes")))


def _is_at_kink(context: Context) -> bool:
    problem = context.points.own.problem
    inputs = {name: array for name, array in problem.inputs.items() if array.dtype.kind == "f"}
    return any(any(kinks_along(context, problem, name, range(array.size))) for name, array in inputs.items())


def _explained(second: Context, engine: CodeEngine, c: Comparison, is_incoming: bool) -> Comparison:
    """Add a diagnosis: kept intermediates, or a first gradient's lost part.

    The second order by an incoming gradient is the same whatever is kept."""
    if not second.options.explained:
        return c
    problem = second.points.own.problem
    saved = [] if is_incoming else saved_intermediates(engine, problem, scaled_problem(problem, 1))
    what = fact("saved_intermediate", names=tuple(saved))
    if saved and _is_due_to_intermediates(engine, problem, c):
        return replace(c, diagnoses=(Diagnosis("saved_intermediate", what, "confirmed"),))
    found = _lost_part(second, engine, c)
    if found is None and saved:
        found = Diagnosis("saved_intermediate", fact("perhaps", what=what), "possible")
    return c if found is None else replace(c, diagnoses=(found,))


def _is_due_to_intermediates(engine: CodeEngine, problem: Problem, c: Comparison) -> bool:
    """Return whether what is missing is the change of first gradients by them.

    The input moves along a random direction, and only what forward keeps moves with it."""
    missing, array = _missing(c), problem.inputs.get(c.tensor)
    if missing is None or array is None or missing.dtype.kind == "c":
        return False
    way = stream(problem.seed, "kept", c.tensor).standard_normal(array.shape)
    step, total = float(np.cbrt(epsilon(problem.dtype))), 0.0
    for sign in (1, -1):
        moved = np.asarray(wide(array) + sign * step * way).astype(array.dtype)
        there = replace(problem, inputs={**problem.inputs, c.tensor: moved})
        gradients = gradients_with_intermediates_of(engine, problem, there)
        probes = ((gradients[n], probe) for n, probe in probes_of(problem).items() if n in gradients)
        total += sign * sum(float(np.sum(wide(gradient) * wide(probe))) for gradient, probe in probes)
    found, want = total / (2 * step), float(np.sum(missing * way))
    return abs(found - want) <= _NEAR * float(np.sum(np.abs(missing * way)))


def _missing(c: Comparison) -> np.ndarray | None:
    """Return the part of the second order that did not arrive."""
    return None if c.want_array is None else wide(c.want_array) - (0 if c.got_array is None else wide(c.got_array))


def _lost_part(second: Context, engine: CodeEngine, c: Comparison) -> Diagnosis | None:
    """Return the first gradient whose whole part the second order lacks."""
    problem, reference = second.points.own.problem, second.engines.reference
    step, missing = last_backward_step(problem), _missing(c)
    if missing is None or step is None or not isinstance(reference, DefineByRun):
        return None
    probes = probes_of(problem)
    for name in probes:  # second order is linear in its probes
        alone = {one: probe if one == name else np.zeros_like(probe) for one, probe in probes.items()}
        if reference is engine:
            answer = second_order.gradient_differences(engine, problem, step, alone).get(c.tensor)
            part, near = None if answer is None else answer.values.reshape(missing.shape), _NEAR
        else:
            part, near = reference.second_order(problem, step, alone).second.get(c.tensor), _PART
        if part is not None and np.allclose(wide(part), missing, rtol=near, atol=near * np.max(np.abs(missing))):
            return Diagnosis("detached", fact("second_detached", gradient=name, tensor=c.tensor), "possible")
    return None


def differs(got: np.ndarray | None, want: np.ndarray | None, dtype: np.dtype, part: float = 0.0) -> bool:
    """Return whether an error exceeds two roundings of the dtype, and a part."""
    if got is None or want is None or got.shape != want.shape:
        return True
    with np.errstate(all="ignore"):
        off, size = np.max(np.abs(wide(got) - wide(want)), initial=0.0), np.max(np.abs(wide(want)), initial=0.0)
    return not off <= part * size and exceeds_rounding(float(off), float(size), dtype)


def exceeds_rounding(off: float, size: float, dtype: np.dtype) -> bool:
    """Return whether an error, beside its total, exceeds two roundings."""
    return not off <= max(_PART, _ROOTS * float(np.sqrt(epsilon(dtype)))) * size


def check_rules(context: Context, engine: CodeEngine, subject: Subject, notes: list[Fact]) -> Iterator[Comparison]:
    """Yield wrong rules; note the right ones."""
    is_smooth = not any(c.status == "not_differentiable" for c in context.found if c.trial is None)
    if not engine.code.is_torch:
        yield from _check_jvp(context, engine, subject) if is_smooth else ()
        return
    rules = rules_of(engine, context.points.own.problem)
    failed: list[Comparison] = []
    if "jvp" in rules and is_smooth:
        failed += _check_jvp(context, engine, subject)
    if "vmap" in rules:
        failed += _check_vmap(context, engine, subject, notes)
    if rules and not failed:
        notes.append(fact("rules_right", rules=tuple(sorted(rules))))
    yield from failed


def _check_jvp(context: Context, engine: CodeEngine, subject: Subject) -> Iterator[Comparison]:
    """Compare `<incoming, J t>` with `<gradient, t>`, for each input alone."""
    point = context.points.own
    problem, gradients = point.problem, point.evaluation(engine).states[0].gradients
    (seeds,) = problem.seeds
    for name, array in problem.inputs.items():
        gradient = gradients.get(name)
        if array.dtype.kind not in "fcV" or gradient is None:
            continue
        moves = random_direction(array, stream(problem.seed, "pushed", name))
        try:
            tangents = code_tangents(engine, problem, {name: moves})
        except GradcheckError as error:
            yield subject.failed(_refusal_fact(engine, "forward_mode", name, error))
            continue
        if not tangents:
            continue
        got = sum((_product(seeds[root], tangents.get(root)) for root in seeds), 0.0)
        want = _product(gradient, moves)
        size = float(np.sum(np.abs(wide(gradient) * wide(moves)))) + abs(got)
        stated = engine_tolerance(array.dtype, context.case.engine_tolerance, context.options.tolerance)
        room = stated.rtol * size + stated.atol * float(np.sum(np.abs(wide(moves))))
        if abs(got - want) > room and exceeds_rounding(abs(got - want), size, array.dtype):
            wrong = fact("jvp_wrong", engine=engine.name, tensor=name, got=got, want=want, factor=_factor(got, want))
            yield subject.failed(wrong)


def _product(one: np.ndarray | None, other: np.ndarray | None) -> float:
    return 0.0 if one is None or other is None else float(np.sum(wide(one).conj() * wide(other)).real)


def _factor(got: float, want: float) -> float | None:
    """Return the simple factor by which forward mode is off, or None."""
    return next((one for one in _FACTORS if np.isclose(got, one * want, rtol=1e-6, atol=0)), None)


def _check_vmap(context: Context, engine: CodeEngine, subject: Subject, notes: list[Fact]) -> Iterator[Comparison]:
    """Compare results under `vmap`; refusing one mapped argument is noted."""
    seen: set[str] = set()
    for one in vmap_results(engine, context.points.own.problem):
        if isinstance(one, VmapError):
            wrong = _refusal_fact(engine, "vmap_one" if one.name else "vmap", one.name, one.error)
            if not one.name:
                yield subject.failed(wrong)
                return
            notes.append(wrong)
            continue
        manner = "vmap_one" if one.name else "vmap" if one.dim == 0 else "vmap_last"
        found = compare(one.got, one.want, base(one.want.dtype), subject)
        if found.status == "failed" and manner not in seen and differs(one.got, one.want, one.want.dtype):
            seen.add(manner)
            detail, tensor = one.name, engine.entry
            wrong = fact("otherwise", engine=engine.name, manner=manner, detail=detail, what="value", tensor=tensor)
            yield replace(found, mismatch=wrong)


def _refusal_fact(engine: CodeEngine, manner: str, detail: str, error: GradcheckError) -> Fact:
    return fact("refuses", engine=engine.name, manner=manner, detail=detail, text=error.message)
