"""Mistakes in blocks of a derivative: a block alone, sums, some entries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from gradcheck.checks.derivatives.entry_mistakes import Entries, Guess
from gradcheck.facts import fact

#: The most entries, rows or columns that a message lists.
_MOST_LISTED = 3


def blocks(one: Entries) -> Iterator[Guess]:
    """Yield the blocks of equal indices alone, and sums over an operand."""
    want, rank = one.want, one.want.ndim
    for row, column in product(range(one.rank), range(one.rank, rank)):
        if want.shape[row] != want.shape[column]:
            continue
        equal = np.eye(want.shape[row]).reshape([want.shape[a] if a in (row, column) else 1 for a in range(rank)])
        axes = (row, column)
        if not one.is_alike(want * equal, want):
            yield "diagonal", fact("block_diagonal_alone", order=axes), want * equal
            continue
        found = np.diagonal(want, axis1=row, axis2=column)
        if found.size and one.is_alike(found[..., :1] + 0 * found, found):
            yield "diagonal", fact("block_alone", order=axes), found[..., 0]
        for place in range(found.ndim):
            yield "diagonal", fact("blocks_without_axis", order=axes), np.moveaxis(found, -1, place)
    if 0 < one.rank < rank:
        rows = tuple(range(one.rank))
        yield "summed", fact("rows_summed", term=one.term), np.asarray(want.sum(axis=rows))
        columns = tuple(range(one.rank, rank))
        yield "summed", fact("columns_summed", term=one.term), np.asarray(want.sum(axis=columns))


def some_entries(one: Entries) -> Iterator[Guess]:
    """Yield entries of which some are 0, or of the other sign."""
    got, want = one.got, one.want
    if got.shape != want.shape or want.ndim == 0:
        return
    scale = float(np.max(np.abs(want), initial=0.0))
    wrong = np.abs(got - want) > one.within * scale
    known = _places(wrong, np.abs(want) > one.within * scale)
    zeros, negated = np.where(wrong, 0 * want, want), np.where(wrong, -want, want)
    for rows, columns, entries in dict.fromkeys((known, ((), (), ()))):
        yield "incomplete", fact("entries_missing", rows=rows, columns=columns, entries=entries), zeros
        yield "sign", fact("entries_negated", rows=rows, columns=columns, entries=entries), negated


def _places(wrong: np.ndarray, nonzero: np.ndarray) -> tuple[tuple[object, ...], ...]:
    """Return the rows, the columns and the entries that are wrong, if few."""
    if wrong.ndim == 2:
        for axis in (1, 0):
            whole = wrong.any(axis=axis) & (wrong == nonzero).all(axis=axis)
            found = tuple(int(at) for at in np.flatnonzero(whole))
            if wrong.any() and (wrong.any(axis=axis) == whole).all() and len(found) < min(len(whole), _MOST_LISTED + 1):
                return (found, (), ()) if axis else ((), found, ())
    entries = tuple(tuple(int(at) for at in place) for place in np.argwhere(wrong)[: _MOST_LISTED + 1])
    return (), (), entries if len(entries) <= _MOST_LISTED else ()
