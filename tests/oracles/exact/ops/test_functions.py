"""Made-up functions: what is known of them holds, their tangents are slopes times tangents, and no more is assumed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.dual import Residue
from gradcheck.oracles.exact.point import Point
from tests.oracles.exact.calls import PRIME

#: Equal whatever values are made up.
IDENTITIES = (
    ("exp(x) * exp(-x)", "ones(5)"),
    ("exp(0 * x)", "ones(5)"),
    ("exp(log(x))", "x"),
    ("exp(logsumexp(x, 0))", "exp(x).sum()"),
    ("exp(log_softmax(x, 0))", "softmax(x, 0)"),
    ("exp(x - logsumexp(x, 0))", "softmax(x, 0)"),
    ("exp(logsigmoid(x))", "sigmoid(x)"),
    ("sigmoid(x) + sigmoid(-x)", "ones(5)"),
    ("tanh(x)", "sinh(x) / cosh(x)"),
    ("tanh(-x)", "-tanh(x)"),
    ("cosh(x) ** 2 - sinh(x) ** 2", "ones(5)"),
    ("expm1(x) + 1", "exp(x)"),
    ("log1p(x)", "log(1 + x)"),
    ("sin(x) ** 2 + cos(x) ** 2", "ones(5)"),
    ("tan(x)", "sin(x) / cos(x)"),
    ("sin(-x)", "-sin(x)"),
    ("cos(-x)", "cos(x)"),
    ("erf(x) + erfc(x)", "ones(5)"),
    ("erf(-x)", "-erf(x)"),
    ("atan(-x)", "-atan(x)"),
    ("softmax(x, 0).sum()", "tensor(1.0)"),
    ("sqrt(x) * rsqrt(x)", "ones(5)"),
    ("x ** 0.5", "sqrt(x)"),
    ("x ** 1.5", "x * sqrt(x)"),
    ("x ** -0.5", "1 / sqrt(x)"),
    ("x ** 1.7 / x", "x ** 0.7"),
    ("exp2(x)", "2 ** x"),
    ("log2(x) * 0.6931471805599453", "log(x)"),
    ("hypot(x, y)", "sqrt(x * x + y * y)"),
    ("logaddexp(x, y)", "log(exp(x) + exp(y))"),
    ("xlogy(x, y)", "x * log(y)"),
    ("gelu(x)", "x * 0.5 * (1 + erf(x / 2 ** 0.5))"),
    ("silu(x)", "x * sigmoid(x)"),
    ("std(x, 0)", "sqrt(var(x, 0))"),
)
#: True of the functions, but not kept.
NOT_KEPT = (("sin(2 * x)", "2 * sin(x) * cos(x)"), ("exp(x + y)", "exp(x) * exp(y)"), ("log(x * y)", "log(x) + log(y)"))


def names(squares: bool = False) -> dict[str, Any]:
    at, generator = Point(PRIME, 31, squares), np.random.default_rng(0)
    return {name: Residue(at, at.random(generator, (5,)), at.random(generator, (5,))) for name in ("x", "y")}


def both(left: str, right: str, scope: dict[str, Any]) -> list[np.ndarray]:
    """Values and tangents, of one and the other."""
    found = [evaluate(parse(text), scope) for text in (left, right)]
    arrays: list[np.ndarray] = []
    for value in found:
        if isinstance(value, Residue):
            tangent = np.zeros(value.shape, dtype=np.int64) if value.tangent is None else value.tangent
            arrays += [value.value, tangent]
        else:
            arrays += [np.asarray(value).astype(np.int64), np.zeros(np.shape(value), dtype=np.int64)]
    return arrays


@pytest.mark.parametrize(("left", "right"), IDENTITIES)
def test_what_is_known(left: str, right: str) -> None:
    value, tangent, other, its_tangent = both(left, right, names())
    assert np.array_equal(value, np.broadcast_to(other, value.shape))
    if not any(part in left for part in ("gelu", "1.7", "1.5", "-0.5")):  # these have slopes in a form of their own
        assert np.array_equal(tangent, np.broadcast_to(its_tangent, tangent.shape))


def value_of(text: str, scope: dict[str, Any]) -> np.ndarray:
    return np.asarray(evaluate(parse(text), scope).value)


@pytest.mark.parametrize(("left", "right"), NOT_KEPT)
def test_what_is_not(left: str, right: str) -> None:
    value, _, other, _ = both(left, right, names())
    assert not np.any(value == other)


def test_squares_of_roots_where_they_are_kept() -> None:
    for squares in (False, True):
        scope = names(squares)
        for left, right in (("square(sqrt(x))", "x"), ("sqrt(x) ** 4", "x * x")):
            value, tangent, other, its_tangent = both(left, right, scope)
            assert np.array_equal(value, other) == squares
            assert np.array_equal(tangent, its_tangent) or not squares
        assert np.array_equal(value_of("rsqrt(x) ** -2", scope), value_of("x", scope)) == squares


def test_the_derivative_of_a_square_of_a_root() -> None:
    """2 y dy with dy = dx / (2 y) is dx, whatever y is."""
    scope = names()
    _, tangent, _, its_tangent = both("sqrt(x) ** 2", "x", scope)
    assert np.array_equal(tangent, its_tangent)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "sqrt", "erf", "atan", "asin", "sigmoid", "log2"])
def test_a_constant_has_no_tangent(name: str) -> None:
    at = Point(PRIME, 1)
    assert TABLE[name](Residue(at, np.arange(2, 6))).tangent is None


def test_what_was_asked_for_is_noted() -> None:
    scope = names()
    evaluate(parse("exp(x) + sin(log(y))"), scope)
    assert scope["x"].point.invented == {"exp", "tan(x / 2)", "log"}
    assert scope["x"].point.nested


@pytest.mark.parametrize("text", ["0.0 ** x", "(-2.0) ** x", "x.to(torch.int64)", "x.sort()"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        evaluate(parse(text), names())


def test_powers_with_tensors_of_integers() -> None:
    scope = names()
    value, tangent, other, its_tangent = both("x ** tensor([0, 1, 2, 3, -1])", "cat([x[:1] ** 0, x[1:2], x[2:3] ** 2, "
                                              "x[3:4] ** 3, 1 / x[4:]])", scope)  # fmt: skip
    assert np.array_equal(value, other)
    assert np.array_equal(tangent, its_tangent)
