"""A problem as a case of its own: every number that was drawn is written out, and nothing varies any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.shrinking.ways import Way
from gradcheck.language.case import Case, Claim, Generalize, Step, Value
from gradcheck.language.problem import Problem
from gradcheck.language.trials import is_general

#: Claims that are verified at other numbers too, where some can vary.
_GENERAL = ("formula", "wrong_formula", "check")


def pin(problem: Problem) -> Case:
    """The same case with literal inputs, constants and incoming gradients, at these sizes."""
    case, dtype = problem.case, problem.dtype
    steps = tuple(
        replace(
            step,
            roots={name: _given(seeds[name], dtype) for name in step.roots} if step.action == "backward" else {},
            inputs={name: literal(array, dtype, leaf=True) for name, array in forward.items()},
        )
        for step, seeds, forward in zip(case.steps, problem.seeds, problem.forwards, strict=True)
    )
    return replace(
        case,
        inputs={name: literal(array, dtype, leaf=True) for name, array in problem.inputs.items()},
        constants={name: literal(array, dtype, leaf=False) for name, array in problem.constants.items()},
        steps=steps,
        dims=dict(problem.sizes),
        shapes={},
        words={},
        generalize=None,
        seed=0,
    )


def literal(array: np.ndarray, dtype: np.dtype, *, leaf: bool) -> Value:
    """An array as a file of this dtype gives it; with a dtype of its own where it would get another."""
    floating = dtypes.is_differentiable(array.dtype)
    plain = array.dtype == dtype if leaf or floating else array.dtype in (np.int64, np.bool_)
    return Value(array=array, dtype="" if plain else array.dtype.name)


def _given(seed: np.ndarray | None, dtype: np.dtype) -> Value | None:
    return None if seed is None else literal(seed, dtype, leaf=True)


def bare(case: Case, way: Way) -> Case:
    """The case with nothing said but what fails in this way."""
    kept = replace(
        case, name=f"{case.name}, smallest"[:200], description="", source="", tags=(), only=(), skip=None, xfail=None,
        values={}, expected={}, formulas={}, wrong_formulas={}, checks=(), steps=tuple(map(_silent, case.steps)),
    )  # fmt: skip
    if not way.is_claim:
        return replace(kept, let={}, tolerance={})
    if case.generalize is None and way.what in _GENERAL and not is_general(case):
        kept = replace(kept, generalize=Generalize())  # which goes without saying
    if way.what in ("formula", "wrong_formula"):
        section = "formulas" if way.what == "formula" else "wrong_formulas"
        claims: Mapping[str, tuple[Claim, ...]] = getattr(case, section)
        chosen = tuple(claim for claim in claims.get(way.tensor, ()) if claim.text == way.formula)
        return replace(kept, **{section: {way.tensor: chosen[:1]}})  # type: ignore[arg-type]
    if way.what == "check":
        steps = tuple(
            replace(step, checks=_named(old.checks, way)) for step, old in zip(kept.steps, case.steps, strict=True)
        )
        return replace(kept, checks=_named(case.checks, way), steps=steps)
    section = "values" if way.what == "expected_value" else "expected"
    steps = tuple(
        replace(step, **{section: _only(getattr(old, section), way)})  # type: ignore[arg-type]
        for step, old in zip(kept.steps, case.steps, strict=True)
    )
    return replace(kept, steps=steps, **{section: _only(getattr(case, section), way)})  # type: ignore[arg-type]


def _silent(step: Step) -> Step:
    return replace(step, values={}, expected={}, checks=())


def _named(checks: tuple[Claim, ...], way: Way) -> tuple[Claim, ...]:
    return tuple(claim for claim in checks if claim.text == way.formula)


def _only(stated: Mapping[str, Value | None], way: Way) -> dict[str, Value | None]:
    return {name: value for name, value in stated.items() if name == way.tensor}
