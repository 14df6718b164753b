"""One key for the spellings of an expression, and different ones for different functions."""

from __future__ import annotations

import pytest

from gradcheck.language.cookbook.expression_key import MOST_PARTS, ExpressionKey, conventional_ranks, key_of
from gradcheck.language.expr.nodes import Call, Name
from gradcheck.language.expr.parser import parse


def key(text: str) -> ExpressionKey:
    expr = parse(text)
    found = key_of(expr, conventional_ranks(expr))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "alike",
    [
        (
            "trace(A @ X.T @ B)",
            "trace(P @ Q.T @ R)",
            "trace(R @ P @ Q.T)",
            "trace(P.T @ Q @ R.T)",
            "(A.T @ X @ B.T).trace()",
        ),
        ("x @ A @ x", "dot(y, B.mv(y))", "(x * (A @ x)).sum()", "(x @ A.T) @ x"),
        ("a @ X @ b", "b @ X.T @ a", "u @ V @ w"),
        ("(A * B).sum()", "trace(A.T @ B)", "trace(B @ A.T)", "sum(Q * P)"),
        ("(x - y) ** 2", "(b - a).neg().square()", "(-y + x).square()"),
        ("x / (y * z)", "a / c / b", "a * (1 / (b * c))"),
        ("logdet(S)", "log(det(S))", "torch.linalg.slogdet(S)[1]", "log(abs(linalg.det(S.T)))"),
        ("softmax(x, dim=1)", "F.softmax(z, 1)", "z.softmax(-1 + 2)".replace("-1 + 2", "1")),
        ("((A @ x - b) ** 2).sum()", "sum((c - B @ y) ** 2)", "(A @ x - b) @ (A @ x - b)", "(b - A @ x).norm() ** 2"),
        ("trace((A - B).T @ (A - B))", "((B - A) ** 2).sum()", "linalg.norm(X - Y) ** 2"),
        ("sigmoid(x)", "1 / (1 + exp(-z))"),
        ("softmax(Q @ K.T, dim=-1)", "softmax(A @ B.T, 1)"),
        ("x.norm()", "sqrt(x @ x)", "(z ** 2).sum() ** 0.5"),
        ("F.mse_loss(p, t)", "((a - b) ** 2).mean()"),
        ("linalg.solve(A, b)", "inv(A) @ c"),
        ("linalg.inv(X.T) @ A", "inv(X).T @ A"),
        ("A @ A @ A", "linalg.matrix_power(B, 3)"),
        ("trace(2 * A @ B)", "2 * trace(B @ A)"),
        ("x * x * x", "y ** 3", "y ** 2 * y"),
        ("F.silu(x)", "x * sigmoid(x)"),
        ("A + B + C", "Z + (X + Y)"),
    ],
    ids=lambda alike: alike[0],
)
def test_spellings_of_one_function(alike: tuple[str, ...]) -> None:
    assert len({key(text).text for text in alike}) == 1


@pytest.mark.parametrize(
    "different",
    [
        ("trace(A @ X @ B)", "trace(A @ X.T @ B)"),
        ("x @ A @ x", "x @ A @ y"),
        ("trace(A @ B @ A)", "trace(A @ B @ B.T)"),
        ("softmax(x, dim=0)", "softmax(x, dim=1)"),
        ("x - y", "x + y"),
        ("x / y", "x * y"),
        ("A @ B", "A * B"),
        ("A @ A.T", "A.T @ A"),
        ("det(A)", "trace(A)"),
        ("sum(A)", "sum(A, dim=0)"),
        ("sqrt(x ** 2)", "x"),
        ("x[0]", "x[1]"),
        ("2 * x", "3 * x"),
        ("log(A @ B)", "log(A) @ B"),
    ],
)
def test_different_functions(different: tuple[str, str]) -> None:
    one, other = map(key, different)
    assert one.text != other.text


def test_names_stand_in_the_order_in_which_they_are_counted() -> None:
    here, there = key("trace(A @ X.T @ B)"), key("trace(D @ C @ Y.T)")
    assert dict(zip(here.names, there.names, strict=True)) == {"X": "Y", "A": "C", "B": "D"}


def test_a_long_expression_has_no_key() -> None:
    expr = parse("x")
    for _ in range(MOST_PARTS):
        expr = Call("add", (expr, Name("y")))
    assert key_of(expr, {}) is None


def test_many_names_that_are_alike() -> None:
    """Not all their orders are tried."""
    assert key(" + ".join("abcdefghijkl")).text.startswith("add(")
