"""What to write where, so that a wrong formula's text says the right one: little, and in its author's own hand."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction.text_edit import smallest_edit
from gradcheck.language.expr.parser import parse


@pytest.mark.parametrize(
    ("wrong", "right", "part", "instead"),
    [
        ("(dZ2 @ W2.T) * (1 - H)", "dZ2 @ W2.T * (1 - H ** 2)", "(1 - H)", "(1 - H ** 2)"),
        ("X @ grad(Z)", "X.T @ grad(Z)", "X", "X.T"),
        ("grad(Z).mean(dim=0)", "sum(grad(Z), dim=0)", "mean", "sum"),
        ("torch.mean(x, 0) + 1", "sum(x, 0) + 1", "mean", "sum"),
        ("2 * x.T @ r", "2 * x.T @ r / n", "2 * x.T @ r", "2 * x.T @ r / n"),
        ("x.sum(dim=0)", "sum(x, dim=1)", "dim=0", "dim=1"),
        ("x.sum(dim=0)", "sum(x, dim=0, keepdim=True)", "x.sum(dim=0)", "x.sum(dim=0, keepdim=True)"),
        ("a @ b", "b @ a", "a @ b", "b @ a"),
        ("-a * b", "a * b", "-a", "a"),
        ("x * (1 + H * H)", "x * (1 - H * H)", "(1 + H * H)", "(1 - H * H)"),
        ("exp(a - b)", "exp(b - a)", "a - b", "b - a"),
        ("a.sum() / x.shape[0]", "a.sum() / x.shape[1]", "0", "1"),
        ("sigmoid(x[:, :d]) * x", "sigmoid(x[:, d:]) * x", ":d", "d:"),
        ("x * (1 - g)", "x * g", "(1 - g)", "g"),
        ("cat([a, -b])", "cat([-b, a])", "[a, -b]", "[-b, a]"),
        ("x * y.exp()", "x * exp(-y)", "y", "(-y)"),
        ("-1 / (a + b)", "-1 / (a + b) ** 2", "(a + b)", "(a + b) ** 2"),
        ("größe * é", "größe * 2 * é", "größe", "größe * 2"),
    ],
)
def test_the_least_that_reads_well(wrong: str, right: str, part: str, instead: str) -> None:
    edit = smallest_edit(wrong, parse(right))
    assert (wrong[edit.start : edit.end], edit.text) == (part, instead)
    assert parse(edit.apply_to(wrong)) == parse(right)


def test_what_has_nothing_in_common_is_replaced_whole() -> None:
    edit = smallest_edit("x", parse("a @ b.T + 1"))
    assert edit.apply_to("x") == "a @ b.T + 1"


def test_what_stays_is_left_as_it_is_written() -> None:
    """Blanks, and torch's name for an op."""
    edit = smallest_edit("F.relu( x )+ torch.mm(a,b)", parse("relu(x) + torch.mm(a, c)"))
    assert edit.apply_to("F.relu( x )+ torch.mm(a,b)") == "F.relu( x )+ torch.mm(a,c)"
