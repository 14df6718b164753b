"""The index: what an expression is an instance of, and entries by words."""

from __future__ import annotations

import pytest

from gradcheck.language.cookbook.cookbook_entries import (
    MOST_PARTS,
    ExpressionKey,
    conventional_ranks,
    entries,
    find_instances,
    key_of,
    search_by_words,
    similar_entries,
)
from gradcheck.language.expr.nodes import Call, Name
from gradcheck.language.expr.parser import parse


def test_there_are_enough() -> None:
    assert len(entries()) >= 250
    assert len({entry.id for entry in entries()}) == len(entries())
    assert all(entry.source and entry.wrong and entry.formulas for entry in entries())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("trace(A @ X.T @ B)", "trace of A X.T B"),
        ("(U * (P @ Q)).sum()", "trace of A X.T B"),
        ("z @ M @ z", "quadratic form"),
        ("logdet(Z.T @ Z)", "log determinant of a Gram matrix"),
        ("F.mse_loss(q, r)", "mean squared error, by hand"),
        ("softmax(s, dim=1)", "softmax"),
        ("sqrt(v @ v)", "Euclidean norm"),
        ("(y - m) @ W @ (y - m)", "squared Mahalanobis distance"),
        ("F.binary_cross_entropy_with_logits(z, y)", "binary cross-entropy of a logit"),
        ("1 / (1 + exp(-z))", "sigmoid"),
        ("(x - y).norm()", "distance"),
        ("tanh(z)", "hyperbolic tangent"),
        ("linalg.solve(K, Y)", "linear system"),
        ("trace(linalg.inv(Y))", "trace of an inverse"),
        ("(u @ v) / (v.norm() * u.norm())", "cosine similarity"),
    ],
)
def test_it_is_found(text: str, name: str) -> None:
    found = [entry.name for entry, _ in find_instances(parse(text))]
    assert name in found


def test_in_other_names() -> None:
    ((entry, names),) = find_instances(parse("trace(P @ Q.T @ X)"))
    mine = entry.with_names(names)
    assert mine.graph == {"f": "trace(P @ Q.T @ X)"}
    assert mine.formulas["Q"] == ["X @ P"]
    assert set(mine.shapes) == {"P", "Q", "X"}


def test_sentences_speak_of_the_same_names() -> None:
    ((entry, names), *_) = find_instances(parse("trace(P.T @ Q @ P)"))
    mine = entry.with_names(names)
    assert "for a symmetric Q alone" in [mistake.why for mistake in mine.wrong]
    ((entry, names), *_) = find_instances(parse("trace(P @ Q)"))
    assert entry.with_names(names).description.startswith("A matrix's trace")


def test_what_stands_in_the_way_is_called_otherwise() -> None:
    found = {entry.name: entry.with_names(names) for entry, names in find_instances(parse("logdet(f.T @ f)"))}
    mine = found["log determinant of a Gram matrix"]
    assert mine.inputs == ["f"]
    assert mine.graph == {"f1": "logdet(f.T @ f)"}


def test_words() -> None:
    assert [one.name for one in search_by_words("cosine")[:2]] == ["cosine", "cosine similarity"]
    assert {entry.theme for entry in search_by_words("kalman")} == {"processes"}
    assert search_by_words("nothing of the kind") == []


def test_near_ones_have_its_ops() -> None:
    assert "determinant" in [entry.name for entry in similar_entries(parse("det(A)"))]
    assert similar_entries(parse("fft.fft(x)")) == []


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
