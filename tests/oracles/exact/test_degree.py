"""Degrees are bounds: what is computed along a line is a fraction of polynomials of no higher degree."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact import modular_arithmetic, ops
from gradcheck.oracles.exact.degree import CONSTANT, RANDOM, Degree
from gradcheck.oracles.exact.dual_numbers import Dual
from gradcheck.oracles.exact.field_point import FieldPoint

assert ops

PRIME = modular_arithmetic.PRIMES[0]
EXPRESSIONS = {
    "x * y + x": (2, 0),
    "x * x * x - y": (3, 0),
    "x ** 5": (5, 0),
    "1 / x": (0, 1),
    "1 / x + 1 / y": (1, 2),
    "(x + y) / (x * y - z)": None,
    "x ** -2 * y": (1, 2),
    "1 / (1 + 1 / (x + 1 / y))": None,
    "(x / y) ** 3": (3, 3),
    "x @ y": (2, 0),
    "(x @ y @ x).sum(1, keepdim=True) / z": None,
    "linalg.inv(x)": (2, 3),
    "linalg.inv(x / y)": None,
    "linalg.det(x) * y": (4, 0),
    "linalg.det(x / y)": None,
    "linalg.solve(x, y)": None,
    "cumsum(x / y, 0)": None,
    "cumprod(x, 0)": (3, 0),
    "prod(x, 0)": (3, 0),
    "(1 / x).sum()": (8, 9),
    "var(x / y, 0)": None,
    "where(eye(3) > 0, x / y, z)": None,
    "where(eye(3) > 0, 1 / x, y * y * z)": None,
    "cat([x, 1 / y])": None,
    "cat([x * y / z, 1 / (y * y), z])": None,
    "einsum('ij,jk,kl->il', x, y, z)": (3, 0),
    "trace(x @ y) * z": (3, 0),
    "det_hessian(x, y)": None,
    "mean(x, 0) - x / z": None,
}


def along_a_line(text: str, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray, Degree]:
    """Values and tangents of all elements for x = a + s b, and so on, at each s; and the degree that is claimed."""
    expr = parse(text)
    generator = np.random.default_rng(3)
    lines = {name: generator.integers(0, PRIME, (3, 3, 3)) for name in "xyz"}
    values, tangents, degree = [], [], CONSTANT
    for step in steps.tolist():
        point = FieldPoint(PRIME, 0)
        names = {
            name: Dual(point, (a + step * b) % PRIME, v, RANDOM.with_direction(0)) for name, (a, b, v) in lines.items()
        }
        found = evaluate(expr, names)
        degree = found.degree
        values.append(found.value.ravel())
        tangents.append(found.tangent.ravel())
    return np.array(values), np.array(tangents), degree


def is_fraction(values: np.ndarray, steps: np.ndarray, top: int, bottom: int) -> bool:
    """Whether some P of degree `top` and Q of degree `bottom` have P(s) = value(s) Q(s) everywhere, more often than
    chance could."""
    powers = [np.array([pow(s, k, PRIME) for s in steps.tolist()]) for k in range(max(top, bottom) + 1)]
    columns = [*powers[: top + 1], *(-values * power % PRIME for power in powers[: bottom + 1])]
    matrix = np.stack(columns, axis=1) % PRIME
    assert len(steps) > len(columns) + 3
    return rank(matrix) < len(columns)


def rank(matrix: np.ndarray) -> int:
    rows, found = matrix.copy(), 0
    for column in range(matrix.shape[1]):
        places = np.flatnonzero(rows[found:, column]) + found
        if len(places):
            rows[[found, places[0]]] = rows[[places[0], found]]
            rows[found] = rows[found] * pow(int(rows[found, column]), -1, PRIME) % PRIME
            others = np.arange(len(rows)) != found
            rows[others] = (rows[others] - rows[others, column][:, None] * rows[found]) % PRIME
            found += 1
    return found


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values_and_tangents(text: str) -> None:
    degree = along_a_line(text, np.array([5]))[2]
    tangent = degree.of_tangent()
    terms = max(degree.numerator + degree.denominator, tangent.numerator + tangent.denominator)
    if terms > 150:
        assert terms < 5000  # too many for elimination, and no wild overestimate
        return
    steps = np.arange(1, terms + 12)
    values, tangents, degree = along_a_line(text, steps)
    for element in range(min(values.shape[1], 4)):
        assert is_fraction(values[:, element], steps, degree.numerator, degree.denominator)
        assert is_fraction(tangents[:, element], steps, tangent.numerator, tangent.denominator)


@pytest.mark.parametrize(("text", "want"), [(text, want) for text, want in EXPRESSIONS.items() if want])
def test_they_are_no_larger_than_they_must_be(text: str, want: tuple[int, int]) -> None:
    degree = along_a_line(text, np.array([5]))[2]
    assert degree.numerator >= want[0]
    assert degree.numerator <= 9 * max(1, want[0])
    assert degree.denominator <= 9 * max(1, want[1])


def test_they_are_sharp_for_polynomials() -> None:
    """One less would be too few."""
    for text, top in {"x * y + x": 2, "x ** 5": 5, "x @ y": 2, "cumprod(x, 0)": 3}.items():
        steps = np.arange(1, 30)
        values, _, degree = along_a_line(text, steps)
        assert (degree.numerator, degree.denominator) == (top, 0)
        assert not all(is_fraction(values[:, i], steps, top - 1, 0) for i in range(9))


def test_chained_functions() -> None:
    """y = f(q), uninterpreted: with f' = 1 / (2 y), its tangent has y and q's denominators."""
    argument, slope = Degree(2, 1, 3, 2), Degree(0, 1)
    chained = Degree(1).chain_rule(slope, argument)
    assert chained.of_tangent() == Degree(3, 1 + 1 + 2, 0, 0, 0)


def test_nothing_is_lost_in_a_sum_of_none() -> None:
    for degree in (Degree(3, 2, 5, 1), Degree(4)):
        assert degree.plus(CONSTANT)[:4] == degree[:4]
        assert degree.times(CONSTANT)[:2] == degree[:2]
        assert degree.join(CONSTANT)[0] >= degree.numerator
        assert degree.summed(1) == degree


def test_kinds_are_remembered() -> None:
    made, plain = Degree(1, kinds=1), Degree(1, kinds=2)
    for combined in (made.plus(plain), made.times(plain), made.join(plain), made.chain_rule(plain, CONSTANT)):
        assert combined.kinds == 3
    assert (
        made.inverted().kinds == made.summed(3).kinds == made.determinant(3).kinds == made.inverse_matrix(2).kinds == 1
    )


def test_the_helper_finds_what_is_no_such_fraction() -> None:
    steps = np.arange(1, 40)
    values = np.array([pow(s, 7, PRIME) for s in steps.tolist()])
    assert is_fraction(values, steps, 7, 0)
    assert not is_fraction(values, steps, 6, 5)
