"""Einstein's sums spelled as products: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import einsums
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone, simplified

EXAMPLES: list[tuple[Rule, str, str]] = [
    (einsums.without_ones, "einsum('ij,ij->i', ones_like(x), y)", "einsum('ij->i', y)"),
    (einsums.without_ones, "einsum(',ij->j', ones_like(s), y)", "einsum('ij->j', y)"),
    (einsums.products_by_name, "einsum('ij,jk->ik', a, x)", "a @ x"),
    (einsums.products_by_name, "einsum('ik,jk->ij', x, y)", "x @ y.T"),
    (einsums.products_by_name, "einsum('ik,ij->jk', x, y)", "y.T @ x"),
    (einsums.products_by_name, "einsum('ij,i->j', x, u)", "x.T @ u"),
    (einsums.products_by_name, "einsum('i,j->ji', u, v)", "outer(v, u)"),
    (einsums.products_by_name, "einsum('i,i->', u, u)", "u @ u"),
    (einsums.products_by_name, "einsum('ij,ij->ij', x, y)", "x * y"),
    (einsums.products_by_name, "einsum('nij,nkj->nik', b, b)", "b @ b.mT"),
    (einsums.products_by_name, "einsum('ij->ji', x)", "x.T"),
    (einsums.products_by_name, "einsum('ij->i', x)", "sum(x, dim=1)"),
    (einsums.products_by_name, "einsum('i->', u)", "sum(u)"),
]
STAYS = [
    "einsum('ij,kj->i', x, y)",  # a label that one alone adds up
    "einsum('ii->i', a)",
    "einsum('ij,j->ij', x, v)",
    "einsum('ij,kj->ik', x, row[:, :1])",  # broadcast along a size of 1
    "einsum('ijk->', b)",
    "einsum('...j->...', x)",
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize("text", STAYS)
def test_what_is_no_product_of_two_stays(text: str) -> None:
    assert alone(einsums.products_by_name, text) == text


def test_gradients_of_a_quadratic_form_are_as_short_as_a_textbook_s() -> None:
    assert simplified("einsum(',ij,j->i', ones_like(s), a, u) + einsum(',i,ij->j', ones_like(s), u, a)") == (
        "(a + a.T) @ u"
    )
