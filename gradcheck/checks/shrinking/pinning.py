"""A problem as a case of its own: every number that was drawn is written out, and nothing varies any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.result import ClaimKind
from gradcheck.checks.shrinking.failure_signature import Signature
from gradcheck.language.case import Case, Claim, Generalize, Step, Value
from gradcheck.language.problem import Problem
from gradcheck.language.trials import is_general


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


def bare(case: Case, signature: Signature) -> Case:
    """The case with nothing said but what fails with this signature."""
    kept = replace(
        case,
        name=f"{case.name}, smallest"[:200],
        description="",
        source="",
        tags=(),
        only=(),
        skip=None,
        xfail=None,
        values={},
        expected={},
        formulas={},
        wrong_formulas={},
        checks=(),
        steps=tuple(replace(step, values={}, expected={}, checks=()) for step in case.steps),
    )
    kind = signature.kind
    if kind is None or not kind.is_of_file:
        return replace(kept, let={}, tolerance={})
    if case.generalize is None and kind.is_general and not is_general(case):
        kept = replace(kept, generalize=Generalize())  # which goes without saying
    if kind is ClaimKind.FORMULA:
        return replace(kept, formulas=_first(case.formulas, signature))
    if kind is ClaimKind.WRONG_FORMULA:
        return replace(kept, wrong_formulas=_first(case.wrong_formulas, signature))
    steps = tuple(
        replace(step, **_stated(old, kind, signature)) for step, old in zip(kept.steps, case.steps, strict=True)
    )
    return replace(kept, steps=steps, **_stated(case, kind, signature))


def _first(claims: Mapping[str, tuple[Claim, ...]], signature: Signature) -> dict[str, tuple[Claim, ...]]:
    """The formula that fails, once."""
    chosen = tuple(claim for claim in claims.get(signature.tensor, ()) if claim.text == signature.formula)
    return {signature.tensor: chosen[:1]}


def _stated(level: Case | Step, kind: ClaimKind, signature: Signature) -> dict[str, Any]:
    """Of what is stated after a step, or for the last, the check or the known numbers that fail."""
    if kind is ClaimKind.CHECK:
        return {"checks": tuple(claim for claim in level.checks if claim.text == signature.formula)}
    section = "values" if kind is ClaimKind.EXPECTED_VALUE else "expected"
    stated: Mapping[str, Value | None] = getattr(level, section)
    return {section: {name: value for name, value in stated.items() if name == signature.tensor}}
