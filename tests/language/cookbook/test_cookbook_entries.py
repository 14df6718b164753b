"""The index: what an expression is an instance of, and entries by words."""

from __future__ import annotations

import pytest

from gradcheck.language.cookbook.cookbook_entries import entries, find_instances, search_by_words, similar_entries
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
