"""What tests of exact rules share: two expressions at a random point, and the functions themselves in place of
indicators."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.degree import RANDOM, Degree
from gradcheck.oracles.exact.dual_numbers import Dual
from gradcheck.oracles.exact.field_point import FieldPoint
from tests.oracles.exact.calls import PRIME, as_residues

#: Numbers on both sides of 0, and directions in which they move. None of `PIECEWISE` calls has a kink there.
VALUES = {"x": np.array([-7.0, -3.0, -1.0, 1.0, 3.0, 7.0]), "w": np.array([5.0, -9.0, 4.0, -5.0, 9.0, -4.0])}
MOVED = {"x": np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), "w": np.array([-1.0, 4.0, 2.0, 7.0, -2.0, 3.0])}


def names(keeps_squares: bool = False, size: int = 5) -> dict[str, Any]:
    """Random x and y with random tangents."""
    at, generator = FieldPoint(PRIME, 31, keeps_squares), np.random.default_rng(0)
    return {name: Dual(at, at.random(generator, (size,)), at.random(generator, (size,))) for name in ("x", "y")}


def both(left: str, right: str, scope: dict[str, Any]) -> list[np.ndarray]:
    """Values and tangents, of one and the other."""
    arrays: list[np.ndarray] = []
    for text in (left, right):
        value = evaluate(parse(text), scope)
        if isinstance(value, Dual):
            tangent = np.zeros(value.shape, dtype=np.int64) if value.tangent is None else value.tangent
            arrays += [value.value, tangent]
        else:
            arrays += [np.asarray(value).astype(np.int64), np.zeros(np.shape(value), dtype=np.int64)]
    return arrays


def assert_identity(left: str, right: str, *, tangents: bool = True) -> None:
    """Equal at a random point, whatever values uninterpreted functions take."""
    value, tangent, other, its_tangent = both(left, right, names())
    assert np.array_equal(value, np.broadcast_to(other, value.shape))
    if tangents:
        assert np.array_equal(tangent, np.broadcast_to(its_tangent, tangent.shape))


def assert_different(left: str, right: str) -> None:
    """Different at a random point, in every element."""
    value, _, other, _ = both(left, right, names())
    assert not np.any(value == other)


class Interpreted(FieldPoint):
    """A point at which comparisons are those of the numbers that residues near 0 stand for."""

    def value(self, name: str, arguments: np.ndarray, degree: Degree) -> np.ndarray:
        if name == ">":
            return ((arguments > 0) & (arguments < self.prime // 2)).astype(np.int64)
        return super().value(name, arguments, degree)


def assert_is_the_function(text: str) -> None:
    """With comparisons in place of indicators, values and tangents are those of the forward; its tangents are
    differences of small steps, exact as long as no kink is crossed."""
    at = Interpreted(PRIME, 0)
    scope = {name: Dual(at, as_residues(a), as_residues(MOVED[name]), RANDOM) for name, a in VALUES.items()}
    found = evaluate(parse(text), scope)
    exact = evaluate(parse(text), VALUES)
    step = 2.0**-20
    ahead, behind = (evaluate(parse(text), {n: a + s * step * MOVED[n] for n, a in VALUES.items()}) for s in (1, -1))
    assert np.array_equal(found.value, as_residues(exact))
    assert np.array_equal(found.tangent, as_residues((ahead - behind) / (2 * step)))
