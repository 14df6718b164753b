"""The largest of two and of many, and what is gathered there and scattered to it."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.dual_numbers import Dual
from tests.oracles.exact.calls import point
from tests.oracles.exact.identities import assert_different, assert_identity, assert_is_the_function
from tests.oracles.exact.small import problem, status


@pytest.mark.parametrize(
    "text",
    [
        *("clamp(x, -4, 5)", "clamp(x, min=0)", "clamp(x, max=2)", "clamp(x, min=w)", "clamp(x, max=w)"),
        *("maximum(x, w)", "minimum(x, w)", "fmax(x, 2 * w)", "fmin(x, w)"),
    ],
)
def test_the_larger_of_two(text: str) -> None:
    assert_is_the_function(text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("maximum(x, y) + minimum(x, y)", "x + y"),
        ("amax(x)", "-amin(-x) + amax(x) + amin(-x)"),
        ("((x == amax(x)) / (x == amax(x)).sum()).sum()", "ones(1)[0]"),
        ("amax(x.flip(0))", "amax(x)"),
        ("amax(x[0])", "x[0]"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not() -> None:
    assert_different("amax(x)", "amin(x)")


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_largest_along_a_dimension(name: str) -> None:
    of = problem({"x": (3, 4)}, {"m": f"{name}(x, 1)", "y": "(m[0] ** 2).sum()"})
    places = f"arg{name}(x, 1, True)"
    assert status(of, "x", f"scatter_add(zeros_like(x), 1, {places}, 2 * m[0][:, None])") == "proved"
    assert status(of, "x", f"scatter_add(zeros_like(x), 1, {places}, 3 * m[0][:, None])") != "proved"
    largest = f"(x == a{name}(x, 1, True))"
    assert status(of, "x", f"{largest} / {largest}.sum(1, True) * 2 * m[0][:, None]") == "proved"
    assert status(of, "x", f"{largest} * 2 * m[0][:, None]") != "proved"  # to each of several maxima
    assert status(of, "x", f"where(x == a{name}(x, 0, True), 2 * m[0][:, None], 0)") != "proved"
    other = "argmin" if name == "max" else "argmax"
    assert status(of, "x", f"scatter_add(zeros_like(x), 1, {other}(x, 1, True), 2 * m[0][:, None])") != "proved"


def test_pools() -> None:
    of = problem({"x": (1, 2, 6)}, {"p": "max_pool1d(x, 2)", "y": "(p * p).sum()"})
    assert status(of, "p", "2 * p") == "proved"
    assert status(of, "x", "2 * x") != "proved"


@pytest.mark.parametrize(
    "text",
    [
        *("x[argmax(x, 1)]", "argmax(x, 1) * 2", "argmax(x)", "gather(x, 0, argmax(x, 1, True))", "argmax(x, 1) == 2"),
        *("gather(y, 1, argmax(x, 1, True))", "index_select(x, 1, argmax(x, 1))", "argmax(x, 1).sum()"),
    ],
)
def test_what_is_refused(text: str) -> None:
    """Weights are never taken for indices."""
    at = point()
    x, y = (Dual(at, at.random(np.random.default_rng(i), (3, 3 + i))) for i in range(2))
    with pytest.raises(Unsupported):
        evaluate(parse(text), {"x": x, "y": y})
