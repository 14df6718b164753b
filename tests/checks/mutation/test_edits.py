"""Mistakes in formulas, as text."""

from __future__ import annotations

import pytest

from gradcheck.checks.mutation.edits import MAX_PARTS, mistakes
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text


@pytest.mark.parametrize(
    ("formula", "mistake"),
    [
        ("x + y", "x - y"),
        ("x + y", "x"),
        ("x + y", "y"),
        ("x - y", "-y"),
        ("x * y", "x / y"),
        ("x / y", "x * y"),
        ("a @ b.T", "a @ b"),
        ("a @ b", "b @ a"),
        ("a @ b", "a.mT @ b"),
        ("a @ b", "a @ b.mT"),
        ("x.sum(dim=0)", "sum(x, dim=1)"),
        ("x.sum(dim=1)", "mean(x, dim=1)"),
        ("x.mean()", "sum(x)"),
        ("sum(x, -1)", "sum(x, 0)"),
        ("softmax(x, dim=1)", "softmax(x, dim=0)"),
        ("x ** 2", "x ** 3"),
        ("ones(x.shape[0])", "ones(x.shape[1])"),
        ("x", "-x"),
        ("x", "2 * x"),
        ("x", "1.001 * x"),
        ("x", "x.mT"),
        ("(x + y) * (x + y)", "(x + y) * (x - y)"),
    ],
)
def test_a_mistake_is_among_them(formula: str, mistake: str) -> None:
    assert mistake in [to_text(wrong) for _, wrong in mistakes(parse(formula))]


def test_no_mistake_is_the_formula_itself_or_another_one_again() -> None:
    formula = parse("((z @ y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, n.shape[0]])).T")
    found = [to_text(wrong) for _, wrong in mistakes(formula)]
    assert len(found) == len(set(found))
    assert to_text(formula) not in found


def test_long_formulas_get_a_sample() -> None:
    formula = parse(" + ".join(f"x{i} * y{i}" for i in range(200)))
    assert MAX_PARTS < len(list(mistakes(formula))) < 5 * MAX_PARTS
