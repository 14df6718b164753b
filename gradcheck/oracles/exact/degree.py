"""Degrees: how large the polynomials can be that an exact evaluation computes, so that its odds are known.

Every residue is a value `T / Q` with a tangent `A / (Q C)`, polynomials in all that is random at a point: leaves,
directions, incoming gradients, and the values that were made up for functions outside the field.
"""

from __future__ import annotations

from typing import NamedTuple

#: What took part in a value, as bits: values of functions that were made up, and truth values among them.
MADE_UP, PIECES = 1, 2


class Degree(NamedTuple):
    """Bounds on the total degrees of T (`top`), Q (`bottom`), A (`slope`) and C (`cofactor`)."""

    top: int = 0
    bottom: int = 0
    slope: int = 0
    cofactor: int = 0
    kind: int = 0

    def plus(self, other: Degree) -> Degree:
        """Of a sum of two, over the product of their denominators."""
        t, b, s, c, k = self
        u, d, r, e, j = other
        if not (b or d or c or e):
            return Degree(max(t, u), 0, max(s, r), 0, k | j)
        return Degree(max(t + d, u + b), b + d, max(s + d + e, r + b + c), c + e, k | j)

    def times(self, other: Degree) -> Degree:
        """Of a product, by the product rule."""
        t, b, s, c, k = self
        u, d, r, e, j = other
        return Degree(t + u, b + d, max(s + u + e, t + r + c), c + e, k | j)

    def to_the(self, exponent: int) -> Degree:
        """Of a positive power."""
        t, b, s, c, k = self
        return Degree(t * exponent, b * exponent, (exponent - 1) * t + s, c, k)

    def inverted(self) -> Degree:
        """Of `Q / T`, whose derivative is `-A Q / (C T^2)`."""
        t, b, s, c, k = self
        return Degree(b, t, s + b, c + t, k)

    def summed(self, terms: int) -> Degree:
        """Of a sum of so many, each with a denominator of its own."""
        t, b, s, c, k = self
        if terms <= 1 or not (b or c):
            return self
        return Degree(t + (terms - 1) * b, terms * b, s + (terms - 1) * (b + c), terms * c, k)

    def beside(self, other: Degree) -> Degree:
        """Of every element of two tensors that are put into one."""
        t, b, s, c, k = self
        u, d, r, e, j = other
        if not (b or d or c or e):
            return Degree(max(t, u), 0, max(s, r), 0, k | j)
        bottom, cofactor = max(b, d), max(c, e)
        top = max(t + bottom - b, u + bottom - d)
        slope = max(s + bottom - b + cofactor - c, r + bottom - d + cofactor - e)
        return Degree(top, bottom, slope, cofactor, k | j)

    def still(self) -> Degree:
        """Of the value alone."""
        return Degree(self[0], self[1], 0, 0, self[4])

    def moving(self) -> Degree:
        """Of the tangent, taken for a value."""
        return Degree(self[2], self[1] + self[3], 0, 0, self[4])

    def along(self, ndim: int) -> Degree:
        """Of the value, its tangent (if any) and a direction of degree `ndim` added up."""
        t, b, s, c, k = self
        return Degree(t, b, max(s, ndim + b + c), c, k)

    def chained(self, slope: Degree, argument: Degree) -> Degree:
        """Of a value of this degree whose tangent is `slope` times the argument's."""
        t, b, _, _, k = self
        _, q, s, c, j = argument
        return Degree(t, b, slope.top + s + b, slope.bottom + q + c, k | j | slope.kind)

    def determinant(self, n: int) -> Degree:
        """Of the determinant of an n by n matrix of these: sums of n-fold products over all entries' denominators."""
        t, b, s, c, k = self
        rest = (n * n - n) * b
        return Degree(n * t + rest, n * n * b, s + max(0, n - 1) * t + rest + max(0, n * n - 1) * c, n * n * c, k)

    def inverse_matrix(self, n: int) -> Degree:
        """Of the inverse of an n by n matrix of these, by Cramer's rule; `dX = -X dA X`."""
        t, b, s, c, k = self
        top, bottom = max(0, n - 1) * t + (n * n - n + 1) * b, n * t + (n * n - n) * b
        slope = 2 * top + s + max(0, n * n - 1) * (b + c)
        return Degree(top, bottom, slope, bottom + n * n * (b + c), k)


#: Of what is random itself, and of constants.
RANDOM, CONSTANT = Degree(1), Degree()
