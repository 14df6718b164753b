"""Mistakes that keep the numbers and put them in other places: transposed, permuted, flipped, shifted, reshaped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess
from gradcheck.facts import fact

#: Of more axes than this, not every order is tried.
_MOST_AXES = 4


@hypothesis("transposed", covers=("reshaped", "permuted", "operand_transposed"))
def transposed(e: Evidence) -> Iterator[Guess]:
    """A matrix, or each of a batch of them, with rows for columns."""
    if e.got is not None and e.want.ndim >= 2 and (min(e.want.shape[-2:]) > 1 or e.got.shape != e.want.shape):
        yield Guess("mT", fact("is_transpose", ndim=e.want.ndim), np.swapaxes(e.want, -1, -2))


@hypothesis("permuted", covers=("reshaped",))
def permuted(e: Evidence) -> Iterator[Guess]:
    """The axes in any other order."""
    if e.got is None or not 2 < e.want.ndim <= _MOST_AXES:
        return
    last = (*range(e.want.ndim - 2), e.want.ndim - 1, e.want.ndim - 2)
    for order in permutations(range(e.want.ndim)):
        changed = tuple(e.want.shape[axis] for axis in order)
        if order not in (last, tuple(range(e.want.ndim))) and changed == e.got.shape:
            yield Guess(order, fact("axes_permuted", order=order), e.want.transpose(order))


@hypothesis("flipped")
def flipped(e: Evidence) -> Iterator[Guess]:
    """Back to front along one axis, or along all."""
    if e.got is None or e.got.shape != e.want.shape:
        return
    axes = [axis for axis, size in enumerate(e.want.shape) if size > 1]
    for axis in axes:
        yield Guess(axis, fact("back_to_front", axis=axis if e.want.ndim > 1 else None), np.flip(e.want, axis))
    if len(axes) > 1:
        yield Guess("all", fact("back_to_front_everywhere"), np.flip(e.want))


@hypothesis("off_by_one")
def shifted(e: Evidence) -> Iterator[Guess]:
    """Moved by one place along an axis; what falls out comes in again at the other end, or zeros do."""
    if e.got is None or e.got.shape != e.want.shape:
        return
    for axis, size in enumerate(e.want.shape):
        if size < 3:  # of two, a shift is a flip
            continue
        told = axis if e.want.ndim > 1 else None
        for step in (1, -1):
            rolled = np.roll(e.want, step, axis)
            yield Guess((axis, step), fact("one_place_off", step=step, axis=told, zeros=False), rolled)
            open_ended = rolled.copy()
            np.moveaxis(open_ended, axis, 0)[0 if step == 1 else -1] = 0
            yield Guess((axis, step, 0), fact("one_place_off", step=step, axis=told, zeros=True), open_ended)


@hypothesis("reshaped")
def reshaped(e: Evidence) -> Iterator[Guess]:
    """The same numbers in another shape; or read column by column where they are written row by row."""
    if e.got is None or e.got.size != e.want.size or e.want.size < 2:
        return
    if e.got.shape != e.want.shape:
        yield Guess("shape", fact("only_shape_wrong", got=e.got.shape, want=e.want.shape), e.want.reshape(e.got.shape))
    by_columns = e.want.ravel(order="F").reshape(e.got.shape)
    yield Guess("F", fact("order_of_transpose"), by_columns)
    by_rows = e.want.reshape(e.want.shape[::-1]).transpose().reshape(e.got.shape)
    yield Guess("C", fact("transposed_not_reshaped"), by_rows)
