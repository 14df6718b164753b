"""Positions of the largest: proved wherever it is, and refused where more would have to be known."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.dual import Dual
from tests.oracles.exact.calls import point
from tests.oracles.exact.small import problem, status


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_largest_along_a_dimension(name: str) -> None:
    of = problem({"x": (3, 4)}, {"m": f"{name}(x, 1)", "y": "(m[0] ** 2).sum()"})
    places = f"arg{name}(x, 1, True)"
    assert status(of, "x", f"scatter_add(zeros_like(x), 1, {places}, 2 * m[0][:, None])") == "proved"
    assert status(of, "x", f"scatter_add(zeros_like(x), 1, {places}, 3 * m[0][:, None])") != "proved"
    assert status(of, "x", f"where(x == a{name}(x, 1, True), 2 * m[0][:, None], 0)") == "proved"
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
