import numpy as np
import pytest

from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.integer_points import (
    as_small_integers,
    integers_between,
    is_piecewise,
    random_integers,
    require_domain,
)
from tests.oracles.exact.small import problem, status

PRIME = modular_arithmetic.PRIMES[0]


def test_numbers_are_small_and_not_0() -> None:
    drawn = as_small_integers(random_integers(3, PRIME, np.random.default_rng(0), (200,)), PRIME)
    assert set(drawn.tolist()) == {-3, -2, -1, 1, 2, 3}


def test_a_stated_domain_is_kept() -> None:
    drawn = as_small_integers(integers_between(-1.5, 2.2, PRIME, np.random.default_rng(0), (200,)), PRIME)
    assert set(drawn.tolist()) == {-1, 0, 1, 2}
    with pytest.raises(Unsupported):
        integers_between(0.1, 0.9, PRIME, np.random.default_rng(0), (2,))


def test_large_residues_are_not_decided() -> None:
    with pytest.raises(Unsupported):
        as_small_integers(np.array([1, PRIME // 3]), PRIME)


def test_domains() -> None:
    require_domain("positive", np.array([1, 5]), PRIME)
    require_domain("nonnegative", np.array([0]), PRIME)
    require_domain("nonzero", np.array([PRIME // 3]), PRIME)
    with pytest.raises(Unsupported):
        require_domain("positive", np.array([1, PRIME - 5]), PRIME)
    with pytest.raises(Unsupported):
        require_domain("unit", np.array([2]), PRIME)


def test_pieces() -> None:
    assert is_piecewise({"exp", ">"})
    assert not is_piecewise({"exp", "sqrt"})


@pytest.mark.parametrize(
    ("graph", "formula"),
    [
        ("x * x", "2 * x * grad(y) * (1 + 2e-11 * (x > 0))"),
        ("x * x", "where(x > 4, 4 * x, 2 * x) * grad(y)"),
        ("x * x", "where(x == round(x), 3 * x, 2 * x) * grad(y)"),
        ("x * x", "2 * x * grad(y) * (1 + (x.sum() > 20))"),
        ("relu6(x)", "grad(y) * (x > 0)"),
        ("clamp(x, -5, 5)", "grad(y)"),
        ("x * x + exp(x)", "(2 * abs(x) + exp(x)) * grad(y)"),
        ("amax(x) * x", "grad(y) * amax(x)"),
    ],
)
def test_what_is_wrong_on_one_side_is_refuted(graph: str, formula: str) -> None:
    assert status(problem({"x": (4,)}, {"y": graph}, seed=(4,)), "x", formula) == "refuted"


@pytest.mark.parametrize(
    ("graph", "formula"),
    [
        ("x * x", "2 * abs(x) * sign(x) * grad(y)"),
        ("relu(x)", "grad(y) * (x > 0) * (x > 0)"),
        ("abs(x)", "grad(y) * x / abs(x)"),
        ("sqrt(x)", "where(x > 0, grad(y) / (2 * y), 7)"),
        ("clamp(x, -5, 5)", "grad(y) * (abs(x) < 5)"),
        ("amax(x) + x", "grad(y) + (x == amax(x)) * grad(y).sum()"),
        ("abs(exp(x) - 1)", "grad(y) * exp(x) * (2 * (x > 0) - 1)"),
    ],
)
def test_what_is_right_is_not(graph: str, formula: str) -> None:
    assert status(problem({"x": (4,)}, {"y": graph}, seed=(4,)), "x", formula) != "refuted"
