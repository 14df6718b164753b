"""Mistakes in parts of a derivative: blocks, rows, columns, some entries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from gradcheck.checks.derivatives.entry_mistakes import Entries, Guess
from gradcheck.facts import Fact, fact

#: The most entries, rows or columns that a message lists.
_MOST_LISTED = 3
#: The most rows, or columns, whose order is sought.
_MOST_LINES = 64


def blocks(one: Entries) -> Iterator[Guess]:
    """Yield the blocks of equal indices alone, and sums over an operand."""
    want, rank = one.want, one.want.ndim
    for row, column in product(range(one.rank), range(one.rank, rank)):
        if want.shape[row] != want.shape[column]:
            continue
        equal = np.eye(want.shape[row]).reshape([want.shape[a] if a in (row, column) else 1 for a in range(rank)])
        axes = (row, column)
        if one.got.shape == want.shape and one.is_alike(want * equal, want) and one.is_alike(one.got * equal, want):
            yield "diagonal", fact("blocks_everywhere", order=axes), one.got
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


def orders_of_lines(one: Entries) -> Iterator[Guess]:
    """Yield the right entries with rows, or columns, in another order."""
    if one.got.shape != one.want.shape or not 1 < max(one.matrix.shape, default=0) <= _MOST_LINES:
        return
    for lines, want in (("rows", one.matrix), ("columns", one.matrix.T)):
        got = one.got.reshape(one.matrix.shape)
        order: list[int] = []
        for line in got if lines == "rows" else got.T:
            order += [at for at, right in enumerate(want) if at not in order and one.is_alike(line, right)][:1]
        if len(order) == len(want):
            found = want[order] if lines == "rows" else want[order].T
            yield "permuted", fact("lines_permuted", lines=lines, order=tuple(order)), found.reshape(one.want.shape)


def some_entries(one: Entries) -> Iterator[Guess]:
    """Yield wrong entries that are 0, of the other sign or off by a factor."""
    got, want = one.got, one.want
    if got.shape != want.shape or want.ndim == 0 or not want.size:
        return
    wrong, known = wrong_places(one)
    largest = np.unravel_index(np.argmax(np.abs(want) * wrong), want.shape)
    if not (want * wrong)[largest]:
        return
    factor = float(f"{(got[largest] / want[largest]).real:.6g}")
    if factor not in (0, -1) and np.count_nonzero(wrong) == 1 and factor % 1 and 1 / factor % 1:
        return  # any wrong entry is off by some number
    for at in (known, fact("entries_somewhere", rows=(), columns=(), entries=())):
        what = fact("entries_scaled", at=at, factor=factor)
        if factor in (0, -1):
            what = fact("entries_negated", at=at) if factor else fact("entries_missing", at=at)
        yield {0.0: "incomplete", -1.0: "sign"}.get(factor, "factor"), what, np.where(wrong, factor * want, want)


def wrong_places(one: Entries) -> tuple[np.ndarray, Fact]:
    """Return where entries are wrong, as a mask and as a fact."""
    size = np.abs(one.want)
    within = one.within * np.max(size, initial=0.0)
    wrong = np.abs(one.got - one.want) > within
    rows, columns, entries = _places(wrong, size > within)
    return wrong, fact("entries_somewhere", rows=rows, columns=columns, entries=entries)


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
