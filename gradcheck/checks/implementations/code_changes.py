"""Explain a wrong gradient by what code does to arguments, or its shape.

Code that changes an argument in place computes the right gradient of other numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.catalogue import matches
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.implementation.binding import argument_name
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem


def is_change(c: Comparison) -> bool:
    """Return whether the failure is itself that an input has changed."""
    return c.mismatch is not None and c.mismatch.kind == "input_changed"


def changed_in_place(engine: CodeEngine, c: Comparison, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return the arguments that the code changes, if it changes some.

    The diagnosis is confirmed if the wrong numbers are right for the changed arguments."""
    found, is_explained = None, bool(seen)
    for point, evidence in seen:
        moved, what = _with_changes(engine, point)
        if what is None:
            return ()
        found = what if found is None else found
        right = point.engines.reference.evaluate(moved).state(c.step)
        judge = (right.values if c.what is ClaimKind.VALUE else right.gradients).get(c.tensor)
        is_explained = is_explained and judge is not None and matches(judge, evidence)
    return () if found is None else (Diagnosis("input_mutated", found, "confirmed" if is_explained else "possible"),)


def _with_changes(engine: CodeEngine, point: Point) -> tuple[Problem, Fact | None]:
    """Return the problem of the changed arguments, and what was changed."""
    problem, seen = point.problem, engine.observations.changed_arguments
    seen.clear()
    changed = dict(engine.evaluate(problem).changed)
    for key, array in seen.items():
        if key != "incoming":
            number = int(key.rpartition(" ")[2])
            changed[argument_name(engine.code.foreign, engine.binding, number)] = array
    inputs = {name: changed.get(name, array) for name, array in problem.inputs.items()}
    seeds = problem.seeds
    if "incoming" in seen:
        new = seen["incoming"]
        seeds = tuple({n: g if g is None or g.shape != new.shape else new for n, g in one.items()} for one in seeds)
    names = sorted(changed)
    what = fact("argument_changed", engine=engine.name, name=", ".join(names)) if names else None
    if what is None and "incoming" in seen:
        what = fact("incoming_changed", engine=engine.name)
    return replace(problem, inputs=inputs, seeds=seeds), what


def summed_again(engine: CodeEngine, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return whether each slice of a larger returned gradient is right.

    torch sums it to its argument's shape, and one that is summed already is counted several times then."""
    found: list[Fact] = []
    for point, evidence in seen if engine.observations.summed_gradients else ():
        right = [what for what, part in _slices(engine, point.problem) if evidence.agree(part, evidence.want)]
        if not right:
            return ()
        found += right[:1]
    if not found:
        return ()
    points = fact("computed_at_points", points=len(seen))
    got, want, axes = (found[0][name] for name in ("got", "want", "axes"))
    return (Diagnosis("summed", fact("returned_is_right", got=got, want=want, axes=axes), "confirmed", points),)


def _slices(engine: CodeEngine, problem: Problem) -> Iterator[tuple[Fact, np.ndarray]]:
    kept = engine.observations.summed_gradients
    first = dict(kept)
    kept.clear()
    engine.evaluate(problem)
    for what, array in list(kept.values()):
        index = tuple(0 if axis in what["axes"] else slice(None) for axis in range(array.ndim))
        yield what, array[index].reshape(what["want"])
    kept.clear()
    kept.update(first)
