"""Two engines on one problem: did both run, are the forward values the same, are the gradients?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.closeness.compare import compare_quietly
from gradcheck.checks.closeness.tolerance import Limits, base, limits
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation, State
from gradcheck.errors import Place, TensorError
from gradcheck.language.case import Case, Tolerance
from gradcheck.language.problem import Problem


def place_of(case: Case, tensor: str) -> Place:
    """Where a tensor, or a part of one (`m[0]`), is defined."""
    name = tensor.partition("[")[0]
    found = case.graph.get(name) or case.inputs.get(name) or case.constants.get(name)
    return found.place if found else case.place


def compare_evaluations(
    problem: Problem,
    got: Evaluation,
    want: Evaluation,
    override: Tolerance | None = None,
    trial: Mapping[str, Any] | None = None,
) -> list[Comparison]:
    """Every claim that one engine's evaluation makes about another's: outcomes, values, gradients, step by step.

    NumPy's warnings are expected to be off.
    """
    case = problem.case
    stated = (case.engine_tolerance, override)
    cache: dict[np.dtype, Limits] = {}

    def limits_of(array: np.ndarray | None) -> Limits:
        if array is None:
            return base(np.dtype(np.float64))
        known = cache.get(array.dtype)
        if known is None:
            known = cache[array.dtype] = limits(array.dtype, *stated)
        return known

    found = [*_outcomes(case, got, want), *_changed(problem, got, want)]
    for index, (mine, theirs) in enumerate(zip(got.states, want.states, strict=False)):
        about = {"step": index, "engine": got.engine, "reference": want.engine, "trial": trial}
        is_forward = case.steps[index].action == "forward"
        one_raised = bool(mine.error) != bool(theirs.error)
        if (index == 0 and not is_forward) or (is_forward and not one_raised):
            for name in _names(case, mine.values, theirs.values):
                pair = mine.values.get(name), theirs.values.get(name)
                found.append(_compare("value", name, pair, limits_of(pair[1]), case, about))
        if one_raised:  # said by `_outcomes`; only one of them has run the step
            continue
        for name in {**theirs.gradients, **mine.gradients}:
            if name not in case.constants and (name not in mine.gradients or name not in theirs.gradients):
                found.append(_nobody(name, name in mine.gradients, case, about))
                continue
            pair = mine.gradients.get(name), theirs.gradients.get(name)
            found.append(_compare("gradient", name, pair, limits_of(pair[1]), case, about))
    return found


def _changed(problem: Problem, got: Evaluation, want: Evaluation) -> Iterator[Comparison]:
    """Inputs and constants are nobody's to change."""
    if not got.changed:
        return
    given = {**problem.inputs, **problem.constants}
    for name, now in got.changed.items():
        about = {"engine": got.engine, "reference": want.engine}
        exact = Limits(0.0, 0.0)
        found = _compare("value", name, (now, given[name]), exact, problem.case, about)
        yield replace(found, message=f"{got.engine} has changed {name}, which it was given")


def _compare(
    what: str,
    name: str,
    pair: tuple[np.ndarray | None, np.ndarray | None],
    allowed: Limits,
    case: Case,
    about: dict[str, Any],
) -> Comparison:
    fields = {"what": what, "tensor": name, "place": place_of(case, name), **about}
    return compare_quietly(*pair, allowed, fields)


def _names(case: Case, *values: object) -> Iterator[str]:
    """The graph's tensors, parts included; inputs are what they were given."""
    seen: dict[str, None] = {}
    for mapping in values:
        seen |= dict.fromkeys(mapping)  # type: ignore[call-overload]
    return (name for name in seen if name not in case.inputs and name not in case.constants)


def _nobody(name: str, mine: bool, case: Case, about: dict[str, Any]) -> Comparison:
    """A gradient that only one of the two speaks of cannot be compared, and that is an error."""
    lacking = about["reference"] if mine else about["engine"]
    return Comparison(
        what="gradient",
        tensor=name,
        status="failed",
        place=place_of(case, name),
        message=f"not compared: {lacking} says nothing about it",
        **about,
    )


def _outcomes(case: Case, got: Evaluation, want: Evaluation) -> Iterator[Comparison]:
    """Where something was raised, or should have been."""
    if not (got.states and want.states):  # the first forward pass broke in one of them, at least
        yield from _raised(case, 0, got.error, want.error, got, want)
        return
    for index, (mine, theirs) in enumerate(zip(got.states, want.states, strict=False)):
        if mine.error or theirs.error or case.steps[index].raises:
            yield from _raised(case, index, mine.error, theirs.error, got, want)
    longer = max(len(got.states), len(want.states))
    if len(got.states) != len(want.states) and not (_last(got).error or _last(want).error):
        ran = f"{got.engine} ran {len(got.states)} of {longer} steps and {want.engine} {len(want.states)}"
        yield Comparison(
            what="raises",
            tensor="",
            status="failed",
            step=min(len(got.states), len(want.states)),
            engine=got.engine,
            reference=want.engine,
            place=case.place,
            message=f"{ran}, without an error",
        )


def _last(evaluation: Evaluation) -> State:
    return evaluation.states[-1]


def _raised(
    case: Case,
    index: int,
    mine: TensorError | None,
    theirs: TensorError | None,
    got: Evaluation,
    want: Evaluation,
) -> Iterator[Comparison]:
    step = case.steps[index]
    failed_at = got.failed_at or want.failed_at
    place = place_of(case, failed_at) if failed_at else step.place
    tensor = failed_at or next(iter(step.roots), "")
    unsupported = "unsupported" in (mine.kind if mine else "", theirs.kind if theirs else "")
    agreed = (mine.kind if mine else None) == (theirs.kind if theirs else None)
    yield Comparison(
        what="raises",
        tensor=tensor,
        step=index,
        status="unsupported" if unsupported else "passed" if agreed else "failed",
        engine=got.engine,
        reference=want.engine,
        place=place,
        message="" if agreed and not unsupported else _difference(got, mine, want, theirs),
        lacks=mine.lacks if mine else "",
        notes=tuple(error.hint for error in (theirs,) if error and "torch itself" in error.hint),
    )


def compare_with_file(case: Case, evaluation: Evaluation) -> Iterator[Comparison]:
    """For each step that raised something, or should have: was it what the case says? What an engine cannot express
    is not judged."""
    outcomes = [(index, state.error) for index, state in enumerate(evaluation.states)]
    if not outcomes:  # the first forward pass broke
        outcomes = [(0, evaluation.error)]
    for index, error in outcomes:
        step = case.steps[index]
        kind = error.kind if error else None
        if kind == "unsupported" or kind is step.raises is None:
            continue
        agreed = kind == step.raises
        asked = f"raise {step.raises}" if step.raises else "raise nothing"
        yield Comparison(
            what="raises",
            tensor=evaluation.failed_at or next(iter(step.roots), ""),
            step=index,
            status="passed" if agreed else "failed",
            engine=evaluation.engine,
            reference="case",
            place=place_of(case, evaluation.failed_at) if evaluation.failed_at else step.place,
            message="" if agreed else f"{evaluation.engine} {_outcome(error)}; step {index + 1} should {asked}",
        )


def _difference(got: Evaluation, mine: TensorError | None, want: Evaluation, theirs: TensorError | None) -> str:
    return f"{got.engine} {_outcome(mine)}; {want.engine} {_outcome(theirs)}"


def _outcome(error: TensorError | None) -> str:
    return f"raised {error.kind} ({error})" if error else "raised nothing"
