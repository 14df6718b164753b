"""Mutations of formulas, as text, and what is said to have been done."""

from __future__ import annotations

import pytest

from gradcheck.checks.mutation.formula_mutations import MAX_PARTS, mutations_of
from gradcheck.facts import fact
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text


@pytest.mark.parametrize(
    ("formula", "mutant", "kind"),
    [
        ("x + y", "x - y", fact("op_swapped", old="add", new="sub")),
        ("x + y", "x", fact("term_dropped")),
        ("x + y", "y", fact("term_dropped")),
        ("x - y", "-y", fact("term_dropped")),
        ("x * y", "x / y", fact("op_swapped", old="mul", new="div")),
        ("x / y", "x * y", fact("op_swapped", old="div", new="mul")),
        ("a @ b.T", "a @ b", fact("transpose_removed")),
        ("a @ b", "b @ a", fact("factors_exchanged")),
        ("a @ b", "a.mT @ b", fact("transpose_added")),
        ("a @ b", "a @ b.mT", fact("transpose_added")),
        ("x.sum(dim=0)", "sum(x, dim=1)", fact("dimension_changed")),
        ("x.sum(dim=1)", "mean(x, dim=1)", fact("op_swapped", old="sum", new="mean")),
        ("x.mean()", "sum(x)", fact("op_swapped", old="mean", new="sum")),
        ("sum(x, -1)", "sum(x, 0)", fact("dimension_changed")),
        ("softmax(x, dim=1)", "softmax(x, dim=0)", fact("dimension_changed")),
        ("x ** 2", "x ** 3", fact("power_changed")),
        ("ones(x.shape[0])", "ones(x.shape[1])", fact("size_changed")),
        ("x", "-x", fact("sign_changed")),
        ("x", "2 * x", fact("factor_added", factor=2.0)),
        ("x", "1.001 * x", fact("factor_added", factor=1.001)),
        ("x", "x.mT", fact("transpose_added")),
        ("(x + y) * (x + y)", "(x + y) * (x - y)", fact("op_swapped", old="add", new="sub")),
    ],
)
def test_a_mutation_is_among_them(formula: str, mutant: str, kind: object) -> None:
    assert (kind, mutant) in [(kind, to_text(wrong)) for kind, wrong in mutations_of(parse(formula))]


def test_no_mutant_is_the_formula_itself_or_another_one_again() -> None:
    formula = parse("((z @ y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, n.shape[0]])).T")
    found = [to_text(wrong) for _, wrong in mutations_of(formula)]
    assert len(found) == len(set(found))
    assert to_text(formula) not in found


def test_long_formulas_get_a_sample() -> None:
    formula = parse(" + ".join(f"x{i} * y{i}" for i in range(200)))
    assert MAX_PARTS < len(list(mutations_of(formula))) < 5 * MAX_PARTS


def test_dividing_by_a_sign_is_no_mistake() -> None:
    mutants = [to_text(wrong) for _, wrong in mutations_of(parse("x * sign(y)"))]
    assert "x / sign(y)" not in mutants
    assert "x / y" in [to_text(wrong) for _, wrong in mutations_of(parse("x * y"))]
