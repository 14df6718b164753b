"""Mistakes that the entries of a wrong derivative show by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, TypeAlias

import numpy as np

from gradcheck.facts import Fact, fact

#: Numbers that differ by less, relative to the largest, are the same.
ALIKE = 1e-6
#: The most axes whose orders are tried.
_MOST_AXES = 5
#: A kind of mistake with its fact, and the entries that it gives.
Guess: TypeAlias = tuple[str, Fact, np.ndarray]


@dataclass(frozen=True)
class Entries:
    """The claimed and the right entries of a derivative at one point.

    `rank` is the number of dimensions of what is differentiated, `within` the relative distance of equal numbers."""

    got: np.ndarray
    want: np.ndarray
    rank: int
    term: str
    within: float

    @property
    def is_wrong(self) -> bool:
        return self.got.shape != self.want.shape or not self.is_alike(self.got, self.want)

    def explained_by(self, predicted: np.ndarray) -> bool:
        """Return whether these are the claimed entries, and not the right ones."""
        if predicted.shape != self.got.shape or not self.is_alike(predicted, self.got):
            return False
        return predicted.shape != self.want.shape or not self.is_alike(predicted, self.want)

    def is_alike(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Return whether all entries are equal, relative to the largest."""
        scale = max(float(np.max(np.abs(array), initial=0.0)) for array in (one, other))
        return bool(np.all(np.abs(one - other) <= self.within * scale))

    @property
    def matrix(self) -> np.ndarray:
        """The right entries, a row for each element that is differentiated."""
        columns = int(np.prod(self.want.shape[self.rank :]))
        return self.want.reshape(self.want.size // columns if columns else 0, columns)


def common_mistake(
    wrong: Sequence[Entries], guesses: Sequence[Callable[[Any], Iterator[Guess]]]
) -> tuple[str, Fact] | None:
    """Return the likeliest mistake that explains the entries at all points."""
    return next(filter(None, (_common(guess, wrong) for guess in guesses)), None)


def _common(guess: Callable[[Any], Iterator[Guess]], wrong: Sequence[Entries]) -> tuple[str, Fact] | None:
    known = [(kind, what) for kind, what, entries in guess(wrong[0]) if wrong[0].explained_by(entries)]
    for one in wrong[1:] if known else ():
        again = {(kind, what) for kind, what, entries in guess(one) if one.explained_by(entries)}
        known = [found for found in known if found in again]
    return known[0] if known else None


def orders(one: Entries) -> Iterator[Guess]:
    """Yield the entries with their indices in another order."""
    rank, rows = one.want.ndim, one.rank
    layout = (*range(rows, rank), *range(rows))
    if rank > 1:
        message = (
            fact("derivative_transposed", term=one.term) if rank == 2 else fact("derivative_layout", term=one.term)
        )
        yield "transposed", message, one.want.transpose(layout)
    for order in permutations(range(rank)) if rank <= _MOST_AXES else ():
        if order not in (layout, tuple(range(rank))):
            yield "permuted", fact("derivative_permuted", order=order), one.want.transpose(order)
    if one.got.size == one.want.size > 0:
        yield "reshaped", fact("derivative_reshaped"), one.want.reshape(one.got.shape)


def parts(one: Entries) -> Iterator[Guess]:
    """Yield parts of a square derivative: of its diagonal, of its triangles."""
    square = one.matrix
    if square.shape[0] != square.shape[1]:
        return
    diagonal = np.diag(square)
    shape = one.want.shape
    yield "diagonal", fact("diagonal_alone"), np.diag(diagonal).reshape(shape)
    yield "diagonal", fact("diagonal_missing"), (square - np.diag(diagonal)).reshape(shape)
    identity = np.eye(len(square))
    yield "one_term", fact("identity_missing"), (square - identity).reshape(shape)
    if one.got.shape == shape and len(square) > 2:
        beside = one.got.reshape(square.shape)[0, 1] - square[0, 1]
        yield "one_term", fact("number_for_identity"), (square + beside * (1 - identity)).reshape(shape)
    yield "diagonal", fact("diagonal_as_vector"), diagonal.reshape(shape[: len(shape) // 2])
    for side, part in (("upper", np.triu(square)), ("lower", np.tril(square))):
        yield "diagonal", fact("triangle_alone", side=side), part.reshape(shape)
    if np.linalg.matrix_rank(square) == len(square):
        yield "inverted", fact("derivative_inverted"), np.linalg.inv(square).reshape(shape)
    got = one.got.reshape(square.shape) if one.got.size == square.size else square
    if one.is_alike(got + got.T, square) and not one.is_alike(got, got.T):
        yield "one_term", fact("transpose_term_missing"), one.got
    if one.is_alike(got, square + square.T) and not one.is_alike(square, square.T):
        yield "one_term", fact("transpose_term_added"), one.got


def wrong_diagonal(one: Entries) -> Iterator[Guess]:
    """Yield the right entries with the claimed diagonal."""
    square = one.matrix
    if square.shape[0] == square.shape[1] and one.got.shape == one.want.shape:
        off = np.diag(one.got.reshape(square.shape) - square)
        if np.any(square != np.diag(np.diag(square))):
            yield "diagonal", fact("diagonal_wrong"), (square + np.diag(off)).reshape(one.want.shape)


def wrong_products(one: Entries) -> Iterator[Guess]:
    """Yield the product with the Jacobian, in place of its transpose."""
    if one.term == "rmatvec" and one.want.ndim == 2:
        yield "transposed", fact("jvp_for_vjp"), one.want.T


def factors(one: Entries) -> Iterator[Guess]:
    """Yield the entries times the constant that the largest is off by."""
    want = one.want
    largest = np.unravel_index(np.argmax(np.abs(want)), want.shape)
    if one.got.shape == want.shape and want[largest] and one.got[largest]:
        ratio = one.got[largest] / want[largest]
        if abs(ratio.imag) > one.within * abs(ratio):
            return
        factor = float(f"{ratio.real:.6g}")
        kind = "sign" if factor == -1 else "factor"
        yield kind, fact("derivative_constant", factor=factor), want * factor


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
