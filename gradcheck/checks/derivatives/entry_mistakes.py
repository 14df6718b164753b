"""Mistakes that the entries of a wrong derivative show by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
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
