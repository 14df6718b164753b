"""Bounds on the degrees of the polynomials in an exact evaluation.

The value of a dual number is a fraction `P / Q`, its tangent a fraction `R / (Q S)`, of polynomials in everything that
is random at a point: leaves, directions, incoming gradients, and values of uninterpreted functions. By the lemma of
Schwartz (1980) and Zippel (1979) a polynomial of degree d that is not zero vanishes at a random point of a field of p
elements with a probability of at most d / p.
"""

from __future__ import annotations

from typing import NamedTuple

#: The functions in a value, as bits: uninterpreted ones; among them piecewise ones, and those that may
#: be equal in one region and different in another (`sqrt(x * x)` and x; meromorphic ones may not); and functions
#: that are undefined at some points where the graph is defined.
UNINTERPRETED, PIECEWISE, BRANCHED, PARTIAL = 1, 2, 4, 8


class Degree(NamedTuple):
    """Bounds on the total degrees of P, Q, R and S, over all elements."""

    numerator: int = 0
    denominator: int = 0
    tangent: int = 0
    cofactor: int = 0
    kinds: int = 0  # the bits above

    def plus(self, other: Degree) -> Degree:
        """Return the degree of a sum, over the product of the denominators."""
        p, q, r, s, k = self
        u, v, w, x, j = other
        if not (q or v or s or x):
            return _degree(Degree, (p if p > u else u, 0, r if r > w else w, 0, k | j))
        return Degree(max(p + v, u + q), q + v, max(r + v + x, w + q + s), s + x, k | j)

    def times(self, other: Degree) -> Degree:
        """Return the degree of a product, by the product rule."""
        p, q, r, s, k = self
        u, v, w, x, j = other
        left, right = r + u + x, p + w + s
        return _degree(Degree, (p + u, q + v, left if left > right else right, s + x, k | j))

    def inverted(self) -> Degree:
        """Return the degree of `Q / P`, whose derivative is `-R Q / (S P^2)`."""
        p, q, r, s, k = self
        return Degree(q, p, r + q, s + p, k)

    def summed(self, terms: int) -> Degree:
        """Return the degree of a sum of `terms`, each with its own denominator."""
        p, q, r, s, k = self
        if terms <= 1 or not (q or s):
            return self
        return Degree(p + (terms - 1) * q, terms * q, r + (terms - 1) * (q + s), terms * s, k)

    def join(self, other: Degree) -> Degree:
        """Return the degree of a tensor with the elements of both."""
        p, q, r, s, k = self
        u, v, w, x, j = other
        if not (q or v or s or x):
            return Degree(max(p, u), 0, max(r, w), 0, k | j)
        denominator, cofactor = max(q, v), max(s, x)
        numerator = max(p + denominator - q, u + denominator - v)
        tangent = max(r + denominator - q + cofactor - s, w + denominator - v + cofactor - x)
        return Degree(numerator, denominator, tangent, cofactor, k | j)

    def of_value(self) -> Degree:
        """Return the degree of the value as a constant."""
        return Degree(self[0], self[1], 0, 0, self[4])

    def of_tangent(self) -> Degree:
        """Return the degree of the tangent as a value."""
        return Degree(self[2], self[1] + self[3], 0, 0, self[4])

    def with_direction(self, ndim: int) -> Degree:
        """Return the degree with a direction of degree `ndim` in the tangent."""
        p, q, r, s, k = self
        return Degree(p, q, max(r, ndim + q + s), s, k)

    def chain_rule(self, slope: Degree, argument: Degree) -> Degree:
        """Return the degree with the tangent `slope * argument.tangent`."""
        p, q, _, _, k = self
        _, v, r, s, j = argument
        return Degree(p, q, slope.numerator + r + q, slope.denominator + v + s, k | j | slope.kinds)

    def determinant(self, n: int) -> Degree:
        """Return the degree of the determinant of an n by n matrix."""
        p, q, r, s, k = self
        rest = (n * n - n) * q
        return Degree(n * p + rest, n * n * q, r + max(0, n - 1) * p + rest + max(0, n * n - 1) * s, n * n * s, k)

    def inverse_matrix(self, n: int) -> Degree:
        """Return the degree of an inverse X, by Cramer's rule; `dX = -X dA X`."""
        p, q, r, s, k = self
        numerator, denominator = max(0, n - 1) * p + (n * n - n + 1) * q, n * p + (n * n - n) * q
        tangent = 2 * numerator + r + max(0, n * n - 1) * (q + s)
        return Degree(numerator, denominator, tangent, denominator + n * n * (q + s), k)


#: In half the time that `Degree(…)` takes.
_degree = tuple.__new__
#: The degrees of random elements, and of constants.
RANDOM, CONSTANT = Degree(1), Degree()
