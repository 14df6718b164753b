"""Check code near the constants in its source, where it may branch.

The entry's own comparisons are searched for both sides. Those of the code are hidden, but most constants that it
compares with, thresholds and block sizes, are in its source.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.claims.evaluations import check_engine
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.undefined_derivatives import is_undefined
from gradcheck.checks.points.degenerate import degeneracy, is_usable
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import is_unbounded, stream
from gradcheck.language.trial_draws import listed_sizes

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: How many constants are tried, and the range of sizes: of all, and of powers of two.
_MOST, _SIZES = 4, (8, 130, 1024)
#: Larger constants stand for infinity.
_LARGEST = 1e4
#: The number of the trial at which exponentials overflow.
_OVERFLOW_TRIAL = 3000
#: The most elements of a tensor.
MAX_BLOCK_ELEMENTS = 60_000


def check(context: Context, engine: CodeEngine) -> Iterator[Comparison]:
    """Check the code at numbers and sizes about its own constants."""
    own, number = context.points.own.problem, 1000
    known = [abs(one) for one in engine.code.constants if 1 < abs(one) <= _LARGEST]
    for constant in list(dict.fromkeys(known))[:_MOST]:
        for sign in (1.0, -1.0):
            number += 1
            yield from _check_at(
                context, engine, context.points.branch_point(_inputs_around(own, sign * constant), number)
            )
    for sizes in _sizes(context, block_sizes(engine.code.constants)):
        number += 1
        yield from _check_at(context, engine, context.points.point_of_sizes(sizes, number, 1))


def block_sizes(constants: Iterable[float]) -> list[int]:
    """Return the constants of code that may be sizes of blocks.

    Large ones are powers of two: others are counts of iterations, at which code with a loop takes long."""
    low, high, largest = _SIZES
    whole = {int(one) for one in constants if low <= one <= largest and one == int(one)}
    return sorted(one for one in whole if one <= high or one & (one - 1) == 0)[:_MOST]


def overflow(context: Context, engine: CodeEngine) -> Iterator[Comparison]:
    """Check gradients where exponentials overflow but the entry is defined."""
    point = context.points.point_of_sizes(context.points.own.problem.sizes, _OVERFLOW_TRIAL, 1, "far")
    if not is_usable(point) or context.points.is_refused(point):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what overflows
        found = check_engine(point, point.evaluation(engine), context.options.tolerance)
    bad = [c for c in found if c.status == "failed" and is_undefined(c)]
    if any(c.what is ClaimKind.VALUE for c in bad):
        size = max(float(np.max(np.abs(a), initial=0.0)) for a in point.problem.inputs.values())
        first = next(c for c in bad if c.what is ClaimKind.VALUE)
        note = fact("overflows_far", engine=engine.name, size=size)
        yield first.subject.passed(shape=first.shape, dtype=first.dtype, elements=first.elements).with_notes(note)
    elif bad:
        context.points.variants.append(point)
        yield from bad


def _check_at(context: Context, engine: CodeEngine, point: Point | None) -> Iterator[Comparison]:
    if not is_usable(point) or context.points.is_refused(point):
        return
    found = check_engine(point, point.evaluation(engine), context.options.tolerance)
    if degeneracy(point, found) is None:
        context.points.variants.append(point)
        yield from found


def _inputs_around(problem: Problem, constant: float) -> Problem:
    """Return the problem with inputs without bounds on both sides of a number."""
    generator = stream(problem.seed, "about", repr(constant))
    inputs = {
        name: np.asarray(constant * generator.uniform(0.5, 1.5, array.shape)).astype(array.dtype)
        if dtypes.is_differentiable(array.dtype) and array.dtype.kind != "c" and _is_free(problem.case, name)
        else array
        for name, array in problem.inputs.items()
    }
    return replace(problem, inputs=inputs)


def _is_free(case: Case, name: str) -> bool:
    """Return whether the case states no domain for an input."""
    value = case.inputs[name]
    return value.expr is None or is_unbounded(value)


def _sizes(context: Context, blocks: Iterable[int]) -> Iterator[Mapping[str, int]]:
    """Yield sizes a little beyond each block."""
    own = context.points.own.problem
    largest = max([array.size for array in own.inputs.values()], default=1)
    fixed = {*context.points.fixed_sizes, *listed_sizes(own.case)}
    for block in blocks:
        for word, size in own.sizes.items():
            if word not in fixed and largest / max(size, 1) * block <= MAX_BLOCK_ELEMENTS:
                yield {**own.sizes, word: block + 3}
