"""The normal form keeps what an expression computes."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.language.cookbook.normal_form_rules import Tree, normal_form, rank
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse

X, Y, V, W = (np.random.default_rng(7).standard_normal(shape) for shape in ((3, 3), (3, 3), 3, 3))
NAMES = {"A": X, "B": Y, "x": V, "y": W}
RANKS = {"A": 2, "B": 2, "x": 1, "y": 1}
FUNCTIONS = {
    "sin": np.sin,
    "exp": np.exp,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "log": np.log,
    "inv": np.linalg.inv,
}


def computed(tree: Tree) -> np.ndarray:
    """What a normal form says, by NumPy."""
    kind, *parts = tree
    if kind == "name":
        return NAMES[parts[0]]
    if kind == "number":
        return np.asarray(parts[0])
    values = [computed(part) for part in parts]
    if kind in ("trace", "scalar"):  # the same twice
        halves = [
            np.linalg.multi_dot(h) if len(h) > 1 else h[0]
            for h in (values[: len(values) // 2], values[len(values) // 2 :])
        ]
        one, other = (np.trace(half) if kind == "trace" else half for half in halves)
        np.testing.assert_allclose(one, other)
        return np.asarray(one)
    if kind == "even":  # the same twice
        np.testing.assert_allclose(values[0] ** values[2], values[1] ** values[2])
        return np.asarray(values[0] ** values[2])
    if kind in FUNCTIONS:
        return np.asarray(FUNCTIONS[kind](*values))
    if kind == "T":
        return values[0].T
    if kind == "chain":
        return np.asarray(np.linalg.multi_dot(values) if len(values) > 1 else values[0])
    reduced = {"add": np.add, "mul": np.multiply, "pow": np.power}
    if kind in reduced:
        result = values[0]
        for value in values[1:]:
            result = reduced[kind](result, value)
        return result
    return np.asarray({"sum": np.sum, "mean": np.mean, "det": np.linalg.det}[kind](values[0]))


@pytest.mark.parametrize(
    "text",
    [
        "trace(A @ B.T @ A)",
        "trace(2 * A @ B - B)",
        "(A @ (B.T @ A).T).T",
        "x @ A @ y",
        "(x * y).sum()",
        "(A * B).sum()",
        "(3 * x - y).sum()",
        "(x - y) ** 2 / (1 + x ** 2)",
        "inv((A @ B).T) @ x",
        "linalg.solve(A, B @ x)",
        "x.norm() ** 3",
        "sin(A.T) @ x",
        "(2 * x) ** 3 * x",
        "mean((A - B) ** 2)",
        "F.mse_loss(x, y)",
        "linalg.matrix_power(A, 3) @ x",
        "F.silu(x)",
        "-(x / y)",
        "(A + B.T).T @ x",
        "(x ** 2).sum() + (B ** 2).sum()",
        "reciprocal(x * y)",
        "square(-x)",
        "det(A.T)",
        "(x ** 2 * 4) ** 2",
        "exp(x) * exp(x)",
        "expm1(x) + 1",
    ],
)
def test_the_value_stays(text: str) -> None:
    want = evaluate(parse(text), NAMES)
    np.testing.assert_allclose(computed(normal_form(parse(text), RANKS)), want, rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("A @ x", 1),
        ("x @ A @ x", 0),
        ("A @ B", 2),
        ("x + y", 1),
        ("sin(A)", 2),
        ("trace(A)", 0),
        ("softmax(x, dim=0)", None),
        ("z * x", None),
        ("x.sum()", 0),
    ],
)
def test_ranks(text: str, known: int | None) -> None:
    assert rank(normal_form(parse(text), RANKS)) == known
