"""Functions in pieces: with the truth in place of unknowns they are the functions themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.degree import PIECES, RANDOM, Degree
from gradcheck.oracles.exact.dual import Residue, Truth
from gradcheck.oracles.exact.ops.piecewise import both, choose, positive, unless
from gradcheck.oracles.exact.point import Point
from tests.oracles.exact.calls import PRIME, as_residues

VALUES = {"x": np.array([-7.0, -3.0, -1.0, 1.0, 3.0, 7.0]), "w": np.array([5.0, -9.0, 4.0, -5.0, 9.0, -4.0])}
MOVED = {"x": np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), "w": np.array([-1.0, 4.0, 2.0, 7.0, -2.0, 3.0])}
#: None of them at a kink.
CALLS = (
    *(
        "relu(x)",
        "relu(x * w) ** 2",
        "leaky_relu(x, 0.25)",
        "hardtanh(x, -2, 4)",
        "relu6(x + w)",
        "threshold(x, 2, 20)",
    ),
    *(
        "hardshrink(x, 2)",
        "softshrink(x, 2)",
        "clamp(x, -4, 5)",
        "clamp(x, min=0)",
        "clamp(x, max=2)",
        "clamp(x, min=w)",
    ),
    *("clamp(x, max=w)", "maximum(x, w)", "minimum(x, w)", "fmax(x, 2 * w)", "fmin(x, w)", "abs(x) * w", "sign(x) * x"),
    *("where(x > w, x * x, w)", "where((x > 0) & (w > 0), x, w)", "where((x > 0) | (w < 0), x * w, 1.0)"),
    *("where(~(x >= 2), x, w)", "where((x > 0) ^ False, x, w)", "(x > w) * x", "(x > 0).sum() * x", "abs(abs(x) - 2)"),
    *("where(any(x > 6), x, w)", "where(all(x > 6), x, w)", "linalg.vector_norm(x, 1)", "(x != 3) * x * 1.0"),
    *("relu(w - relu(x - 2))", "where(x == 3, x, w)", "masked_fill(x, w > 0, 2.0)", "l1_loss(x, w)"),
)
KNOWN = [text for text in CALLS if "^" not in text and "==" not in text and "!=" not in text]


class Truthful(Point):
    """A point at which nothing is made up where it is known: of residues near 0, which is positive."""

    def made_up(self, name: str, values: np.ndarray, degree: Degree) -> np.ndarray:
        if name == ">":
            self._note(name, values, degree)
            return ((values > 0) & (values < self.prime // 2)).astype(np.int64)
        return super().made_up(name, values, degree)


def residues(at: Point) -> dict[str, Residue]:
    return {name: Residue(at, as_residues(a), as_residues(MOVED[name]), RANDOM) for name, a in VALUES.items()}


@pytest.mark.parametrize("text", KNOWN)
def test_values_and_tangents(text: str) -> None:
    """Tangents are differences of small steps, exact as long as no kink is crossed."""
    found = evaluate(parse(text), residues(Truthful(PRIME, 0)))
    exact = evaluate(parse(text), VALUES)
    step = 2.0**-20
    ahead, behind = (evaluate(parse(text), {n: a + s * step * MOVED[n] for n, a in VALUES.items()}) for s in (1, -1))
    assert np.array_equal(found.value, as_residues(exact))
    assert np.array_equal(found.tangent, as_residues((ahead - behind) / (2 * step)))


def unknown() -> dict[str, Residue]:
    at, generator = Point(PRIME, 3), np.random.default_rng(0)
    return {name: Residue(at, at.random(generator, (6,))) for name in ("x", "w")}


def value(text: str, scope: dict[str, Residue]) -> Any:
    found = evaluate(parse(text), scope)
    return found.value if isinstance(found, Residue) else found.astype(np.int64)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x > w", "w < x"),
        ("x >= w", "~(x < w)"),
        ("x > w", "x >= w"),
        ("(x > 0) + 0", "1 - ((-x) > 0)"),
        ("(x > 0) & True", "x > 0"),
        ("(x > 0) | False", "x > 0"),
        ("any(x > 0, 0)", "1 - all(x <= 0, 0) * 1"),
        ("x > x", "zeros(6)"),
        ("x >= x", "ones(6)"),
        ("x == x", "ones(6)"),
        ("x == w", "zeros(6)"),
        ("relu(x) > 0", "x > 0"),
        ("-relu(x) > 0", "zeros(6)"),
        ("isfinite(x)", "ones(6)"),
        ("isnan(x)", "zeros(6)"),
        ("abs(-x)", "abs(x)"),
        ("maximum(x, w) + minimum(x, w)", "x + w"),
        ("frac(x) + trunc(x)", "x"),
        ("x % w + w * floor(x / w)", "x"),
        ("x // w", "floor(x / w)"),
        ("amax(x)", "-amin(-x) + amax(x) + amin(-x)"),
        ("(x == amax(x)).sum()", "ones(1)[0]"),
        ("amax(x.flip(0))", "amax(x)"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    scope = unknown()
    assert np.array_equal(value(left, scope), value(right, scope))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x > w", "x > 2 * w"),
        ("relu(x) >= 0", "relu(x) > 0"),
        ("(relu(x) > w) * 1", "1 - (w > relu(x))"),
        ("relu(x) == 0", "zeros(6)"),
        ("floor(x) == floor(w)", "zeros(6)"),
        ("(x > 0) * (x > 0)", "(x > 0) * 1"),
        ("amax(x)", "amin(x)"),
        ("ceil(x)", "floor(x) + 1"),
    ],
)
def test_what_is_not(left: str, right: str) -> None:
    scope = unknown()
    assert not np.any(value(left, scope) == value(right, scope))


def test_truth_values_are_no_booleans() -> None:
    """They are unknowns: neither 0 nor 1, so that both are proved at once."""
    truth = positive(unknown()["x"])
    assert isinstance(truth, Truth)
    assert truth.degree.kind & PIECES
    assert np.all(truth.value > 1)
    assert np.array_equal(unless(unless(truth)).value, truth.value)
    assert np.array_equal(both(truth, unless(truth)).value, truth.value * (1 - truth.value) % PRIME)
    assert np.array_equal(choose(truth, truth, truth).value, truth.value)


def test_numbers_are_not_taken_for_truth_values() -> None:
    x = unknown()["x"]
    with pytest.raises(Unsupported):
        TABLE["where"](x, x, x)
    with pytest.raises(Unsupported):
        TABLE["logical_not"](x)


def test_chances_are_counted() -> None:
    x = unknown()["x"]
    assert TABLE["gt"](x, 0).point.chance == 6
