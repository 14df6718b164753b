"""Check a `Function`'s `jvp` and `vmap` rules, and JAX's forward mode.

`jvp` is compared with its gradients, which are known to be right by then, and `vmap` with one call after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import base, engine_tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.second_order import differs, exceeds_rounding
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.jvp_vmap_rules import VmapError, code_tangents, rules_of, vmap_results
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.random_streams import random_direction, stream

#: Named factors between a wrong and the right tangent.
_FACTORS = (0.0, -1.0, 2.0, 0.5)


def check(context: Context, engine: CodeEngine, subject: Subject, notes: list[Fact]) -> Iterator[Comparison]:
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
