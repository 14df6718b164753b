"""Mistakes that a wrong Jacobian or Hessian shows by its numbers.

A mistake explains a claim if it gives the claimed numbers, which are not the right ones, at every point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple, TypeAlias

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.context import Context
from gradcheck.checks.derivatives.derivative_formula import derived_formula, signed_terms
from gradcheck.checks.derivatives.stated_derivatives import StatedDerivative
from gradcheck.checks.points.drawing import GENERIC
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.implementation.binding import ancestors_of
from gradcheck.errors import GradcheckError, InvalidCase
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.expr.printer import to_text

#: Numbers that differ by less, relative to the largest, are the same mistake.
_ALIKE = 1e-6
_ALIKE_IN_LOW_PRECISION = 1e-2
#: The most entries of a derivative, and axes, that are searched for a mistake.
_MOST_ENTRIES, _MOST_AXES = 1_000_000, 5
#: The points at which a mistake must give the claimed numbers to be confirmed.
_CONFIRMS, _MOST_POINTS = 2, 3
#: The powers of a tensor by which a claim may be off.
_POWERS = (1, -1, 2, -2)
#: The most entries of the graph whose curvature an approximation may keep.
_MOST_INNER = 12
_DOUBLE = np.dtype(np.float64).itemsize


#: A kind of mistake with its fact, and the entries that it gives.
Guess: TypeAlias = tuple[str, Fact, np.ndarray]


class _Claimed(NamedTuple):
    """The claimed and the right entries at one point."""

    stated: StatedDerivative
    point: Point
    got: np.ndarray
    want: np.ndarray

    @property
    def is_wrong(self) -> bool:
        return self.got.shape != self.want.shape or not self.is_alike(self.got, self.want)

    def explained_by(self, predicted: np.ndarray) -> bool:
        """Return whether these are the claimed entries, and not the right ones."""
        if predicted.shape != self.got.shape or not self.is_alike(predicted, self.got):
            return False
        return predicted.shape != self.want.shape or not self.is_alike(predicted, self.want)

    def is_alike(self, one: np.ndarray, other: np.ndarray) -> bool:
        within = _ALIKE if self.point.problem.dtype.itemsize >= _DOUBLE else _ALIKE_IN_LOW_PRECISION
        scale = max(float(np.max(np.abs(array), initial=0.0)) for array in (one, other))
        return bool(np.all(np.abs(one - other) <= within * scale))

    @property
    def gradients(self) -> Mapping[str, np.ndarray]:
        """Gradients by tensor, and Jacobians and Hessians by their text."""
        return self.point.scope(self.point.last_step).gradients

    @property
    def matrix(self) -> np.ndarray:
        """The right entries, a row for each element that is differentiated."""
        columns = self.point.want.states[-1].values[self.stated.by].size
        return self.want.reshape(self.want.size // columns if columns else 0, columns)


def with_mistakes(context: Context, stated: StatedDerivative, failed: Comparison) -> Comparison:
    """Return the failure with the mistake that explains it, if one does."""
    if failed.status != "failed" or stated.what.is_stated_wrong or any(one.confidence for one in failed.diagnoses):
        return failed
    points = (context.points.own, context.points.unseen_point(GENERIC), *context.points.trials)
    claimed = (_claimed_at(point, stated) for point in points[: _MOST_POINTS + 1] if point is not None)
    wrong = [one for one in claimed if one is not None and one.is_wrong]
    if not wrong:
        return failed
    known = next(filter(None, (_common(guesses, wrong) for guesses in _GUESSES)), None)
    if known is None:
        return failed
    kind, message = known
    found = Diagnosis(kind, message, confidence="confirmed" if len(wrong) >= _CONFIRMS else "possible")
    return replace(failed, diagnoses=(found, *failed.diagnoses))


def _claimed_at(point: Point, stated: StatedDerivative) -> _Claimed | None:
    """Return both sides at a point; None if not finite, or too large."""
    try:
        scope = point.scope(point.last_step)
        got, want = (wide(one) for one in (scope.array_of(stated.claim.expr), scope.gradients[stated.term.name]))
    except (GradcheckError, LookupError):
        return None
    small = want.size > 0 and max(got.size, want.size) <= _MOST_ENTRIES
    return _Claimed(stated, point, got, want) if small and np.isfinite(got).all() and np.isfinite(want).all() else None


def _common(guesses: Callable[[_Claimed], Iterator[Guess]], wrong: Sequence[_Claimed]) -> tuple[str, Fact] | None:
    """Return the likeliest mistake that explains the claim at all points."""
    known = [(kind, what) for kind, what, entries in guesses(wrong[0]) if wrong[0].explained_by(entries)]
    for one in wrong[1:] if known else ():
        again = {(kind, what) for kind, what, entries in guesses(one) if one.explained_by(entries)}
        known = [guess for guess in known if guess in again]
    return known[0] if known else None


def _orders(one: _Claimed) -> Iterator[Guess]:
    """Yield the entries with their indices in another order."""
    rank = one.want.ndim
    rows = rank - one.point.want.states[-1].values[one.stated.by].ndim
    layout = (*range(rows, rank), *range(rows))
    if rank > 1:
        term = one.stated.term.name
        message = fact("derivative_transposed", term=term) if rank == 2 else fact("derivative_layout", term=term)
        yield "transposed", message, one.want.transpose(layout)
    for order in permutations(range(rank)) if rank <= _MOST_AXES else ():
        if order not in (layout, tuple(range(rank))):
            yield "permuted", fact("derivative_permuted", order=order), one.want.transpose(order)
    if one.got.size == one.want.size:
        yield "reshaped", fact("derivative_reshaped"), one.want.reshape(one.got.shape)


def _parts(one: _Claimed) -> Iterator[Guess]:
    """Yield parts of a square derivative: of its diagonal, of its triangles."""
    square = one.matrix
    if square.shape[0] != square.shape[1]:
        return
    diagonal = np.diag(square)
    shape = one.want.shape
    yield "diagonal", fact("diagonal_alone"), np.diag(diagonal).reshape(shape)
    yield "diagonal", fact("diagonal_missing"), (square - np.diag(diagonal)).reshape(shape)
    if one.got.shape == shape:
        claimed = np.diag(one.got.reshape(square.shape)) if np.any(square != np.diag(diagonal)) else diagonal
        yield "diagonal", fact("diagonal_wrong"), (square - np.diag(diagonal - claimed)).reshape(shape)
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


def _approximations(one: _Claimed) -> Iterator[Guess]:
    """Yield what stands for a Hessian: Gauss-Newton's, products of gradients."""
    stated, case = one.stated, one.point.problem.case
    if not stated.is_hessian:
        return
    values = one.point.want.states[-1].values
    left, right = (one.gradients[Derivative.of("jacobian", stated.of, name).name] for name in (stated.rows, stated.by))
    yield "approximation", fact("outer_product_of_gradients"), np.multiply.outer(left, right).reshape(one.want.shape)
    above = ancestors_of(case, stated.of)
    inner = [name for name in reversed(list(case.graph)) if name in above and name in values]
    for name in inner[:_MOST_INNER]:
        if not {stated.rows, stated.by} <= ancestors_of(case, name) or values[name].size ** 2 > _MOST_ENTRIES:
            continue
        try:
            curvature = one.gradients[Derivative.of("hessian", stated.of, name, name).name]
            left, right = (one.gradients[Derivative.of("jacobian", name, by).name] for by in (stated.rows, stated.by))
        except GradcheckError:
            continue
        size = values[name].size
        product = left.reshape(size, -1).T @ curvature.reshape(size, size) @ right.reshape(size, -1)
        message = fact("gauss_newton", inner=name, of=stated.of, by=stated.rows)
        yield "approximation", message, wide(product).reshape(one.want.shape)


def _factors(one: _Claimed) -> Iterator[Guess]:
    """Yield what is off by a tensor, as a whole or along an axis."""
    values, want = one.point.want.states[-1].values, one.want
    largest = np.unravel_index(np.argmax(np.abs(want)), want.shape)
    if one.got.shape == want.shape and want[largest] and one.got[largest].imag == 0:
        factor = float(f"{(one.got[largest] / want[largest]).real:.6g}")
        kind = "sign" if factor == -1 else "factor"
        yield kind, fact("derivative_constant", factor=factor), want * factor
    for name, array in {**values, **one.point.problem.constants}.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all() or not np.all(array) or array.ndim > 1:
            continue
        axes = [axis for axis, size in enumerate(want.shape) if array.ndim == 1 and size == array.size > 1]
        for power in _POWERS:
            with np.errstate(all="ignore"):
                scale = wide(array) ** power
            if array.size == 1:
                yield "factor_of_tensor", fact("derivative_factor", tensor=name, power=power), want * scale.item()
            for axis in axes:
                along = scale.reshape([-1 if at == axis else 1 for at in range(want.ndim)])
                yield "factor_of_tensor", fact("derivative_factor", tensor=name, power=power), want * along


def _terms(one: _Claimed) -> Iterator[Guess]:
    """Yield the derived formula without a term, or with one of the other sign."""
    try:
        terms = signed_terms(derived_formula(one.point.problem.case, one.stated.term, None))
        scope = one.point.scope(one.point.last_step)
        values = [(sign, expr, wide(scope.array_of(expr))) for sign, expr in terms]
    except (GradcheckError, InvalidCase):
        return
    for sign, expr, value in values if len(values) > 1 else []:
        text = to_text(expr)
        yield "one_term", fact("term_missing", term=text), one.want - sign * value
        yield "one_term", fact("term_of_other_sign", term=text), one.want - 2 * sign * value


_GUESSES: tuple[Callable[[_Claimed], Iterator[Guess]], ...] = (_orders, _approximations, _factors, _parts, _terms)
