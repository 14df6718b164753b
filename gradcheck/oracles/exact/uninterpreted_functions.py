"""Uninterpreted functions outside the field, and their known properties.

Their tangents follow from the chain rule, some are odd; single values may be defined, as those of `exp` at logarithms.
An identity that holds for uninterpreted functions holds for the real ones. One that does not may still hold, since the
real functions may satisfy other relations: such claims are left to another oracle, and never refuted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcheck.oracles.exact.degree import BRANCHED, UNINTERPRETED, Degree
from gradcheck.oracles.exact.dual_numbers import Dual
from gradcheck.oracles.exact.graph_regions import Domain

#: Functions that are meromorphic: two expressions made of them and of fractions are equal everywhere or nowhere but at
#: single points (the identity theorem). `sqrt(x * x)` is x in one region and -x in another.
MEROMORPHIC = frozenset({"exp", "tan(x / 2)", "erf"})
#: A function's derivative, computed only if there is a tangent.
Slope = Callable[[], Dual]


def uninterpreted(name: str, x: Dual) -> Dual:
    """Return a random value for each distinct element, without tangent."""
    value = x.point.value(name, x.value, x.degree)
    return Dual(x.point, value, None, uninterpreted_degree(name, x))


def uninterpreted_degree(name: str, x: Dual) -> Degree:
    """Return the degree of a value of this function at x."""
    return Degree(1, kinds=x.degree.kinds | UNINTERPRETED | (0 if name in MEROMORPHIC else BRANCHED))


def with_domain(domain: Domain, x: Dual, value: Dual) -> Dual:
    """Return the value of a function with this domain."""
    kinds = x.point.domain_kinds(domain, x.value, x.degree)
    if kinds:
        value.degree = value.degree._replace(kinds=value.degree.kinds | kinds)
    return value


def odd_function(name: str, x: Dual) -> Dual:
    """Return the value of an odd function: `f(-x) = -f(x)`."""
    size, flipped = up_to_sign(x)
    value = np.where(size == 0, 0, x.point.value(name, size, x.degree))
    value = np.where(flipped, -value % x.point.prime, value)
    return Dual(x.point, value, None, uninterpreted_degree(name, x))


def function_of_two(name: str, a: Dual, b: Dual) -> Dual:
    """Return a random value for each distinct pair of arguments."""
    return uninterpreted(name, combine_arguments(a.primal(), b.primal()))


def combine_arguments(a: Dual, b: Dual) -> Dual:
    """Return a random combination, different for different pairs."""
    return a.add_formally(b * Dual(a.point, np.asarray(a.point.weight()), None, Degree(1)))


def up_to_sign(x: Dual) -> tuple[np.ndarray, np.ndarray]:
    """Return the smaller of each element and its negative, and which it is."""
    flipped = x.value > x.point.prime // 2
    return np.where(flipped, x.point.prime - x.value, x.value), flipped


def chain_rule(x: Dual, value: Dual, slope: Slope) -> Dual:
    """Return a function's value at x, with the tangent `slope * x.tangent`."""
    tangent = x.tangent
    if tangent is None:
        return value
    factor = slope()
    moved = factor.value * tangent % x.point.prime
    return Dual(x.point, value.value, moved, value.degree.chain_rule(factor.degree, x.degree))


def chain_rule_of_two(value: Dual, first: tuple[Dual, Slope], second: tuple[Dual, Slope]) -> Dual:
    """Return the value of a function of two, with the tangents of both."""
    parts = [chain_rule(x, value, slope) for x, slope in (first, second) if x.lazy_tangent is not None]
    if not parts:
        return value
    tangent, degree = parts[0].tangent, parts[0].degree
    assert tangent is not None
    if len(parts) == 2:
        tangent = (tangent + parts[1].tangent) % value.point.prime
        sums = degree.plus(parts[1].degree)
        cofactor = sums.cofactor + value.degree.denominator
        degree = value.degree._replace(tangent=sums.tangent, cofactor=cofactor, kinds=sums.kinds)
    return Dual(value.point, value.value, np.broadcast_to(tangent, value.shape), degree)
