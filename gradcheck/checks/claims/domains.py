"""Domains: formulas that are undefined (NaN) where the graph is defined, and right wherever they are defined.

Such a formula passes, with where it is undefined said. One that is wrong where it is defined has failed, and so has
one that is defined nowhere at the case's own numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.context import Context
from gradcheck.checks.points import Point
from gradcheck.checks.regions import region
from gradcheck.checks.result import ClaimKind, Comparison
from gradcheck.facts import fact


def applies(context: Context) -> bool:
    """Where a formula has failed by NaN alone."""
    return any(_is_undefined(c) for c in context.found)


def check(context: Context) -> Iterable[Comparison]:
    """Nothing new: what failed for being undefined alone passes, with a note, if it is right everywhere else."""
    for key in dict.fromkeys(_key(c) for c in context.found if _is_undefined(c)):
        listed = [c for c in context.found if c.what is ClaimKind.FORMULA and _key(c) == key]
        if all(c.status != "failed" or _is_undefined(c) for c in listed) and _is_defined(listed):
            _let_pass(context, key, listed)
    return ()


def _key(c: Comparison) -> tuple[str, str]:
    return c.tensor, c.formula


def _is_undefined(c: Comparison) -> bool:
    """Whether a formula differs only in being NaN where the gradient is a number, or raises so at other numbers (the
    inverse of a matrix that has a determinant, but 0)."""
    if c.what is not ClaimKind.FORMULA or c.status != "failed":
        return False
    if c.mismatch is not None and c.mismatch.kind == "claim_raised":
        return c.trial is not None and c.mismatch["error"] == "domain_error"
    if c.mask is None:
        return False
    if c.got_array is None or c.want_array is None or c.got_array.shape != c.want_array.shape:
        return False
    got, want = wide(c.got_array)[c.mask], wide(c.want_array)[c.mask]
    return bool(np.all(np.isnan(got)) and np.all(np.isfinite(want)))


def _is_defined(listed: Sequence[Comparison]) -> bool:
    """Whether it is defined, and so right, in some element at the case's own numbers."""
    own = [c for c in listed if c.trial is None]
    return any(c.status != "failed" or c.mismatched < c.elements for c in own)


def _let_pass(context: Context, key: tuple[str, str], listed: Sequence[Comparison]) -> None:
    undefined = [c for c in listed if c.status == "failed"]
    shown = next((c for c in undefined if c.trial is None), undefined[0])
    points = [(context.points.at(c.trial), _mask(c)) for c in listed if c.status == "failed"]
    passed = [(context.points.at(c.trial), None) for c in listed if c.status == "passed"]
    where = region(list(_seen([*points, *passed], key[0])))
    note = fact("undefined_at", count=shown.mismatched, elements=shown.elements, where=where, own=shown.trial is None)

    def change(c: Comparison) -> Comparison:
        kept = c.subject.passed(shape=c.shape, dtype=c.dtype, elements=c.elements) if c.status == "failed" else c
        return kept.noted(note) if c.trial is None else kept

    context.amend(lambda c: c.what is ClaimKind.FORMULA and _key(c) == key, change)


def _mask(c: Comparison) -> np.ndarray:
    return np.ones(c.shape or (), dtype=bool) if c.mask is None else c.mask


def _seen(
    points: Iterable[tuple[Point, np.ndarray | None]], tensor: str
) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray]]:
    """At each point the tensors of the same shape, by name, and where the formula is undefined."""
    for point, mask in points:
        scope = point.scope(point.last)
        shape = scope.gradients[tensor].shape
        undefined = np.zeros(shape, dtype=bool) if mask is None else mask
        inputs = [name for name in point.problem.inputs if name != tensor]
        named = {n: scope[n] for n in (tensor, *inputs, *point.problem.case.graph) if n in scope}
        yield {n: wide(a) for n, a in named.items() if isinstance(a, np.ndarray) and a.dtype.kind in "fV"}, undefined
