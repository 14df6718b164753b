"""Labels: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import class_labels
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

#: A square of as many rows as there are labels.
S = "(x.T @ x)"
EXAMPLES: list[tuple[Rule, str, str]] = [
    (class_labels.drop_ignored_label, "where(k != -100, k, 0)", "k"),
    (class_labels.drop_ignored_label, "where(k != -100, s, 0)", "expand(s, k.shape)"),
    (class_labels.number_of_labels, "v / sum(to(k != -100, torch.float64))", "v / k.shape[0]"),
    (
        class_labels.scatter_as_one_hot,
        f"scatter_add(zeros_like{S}, 1, unsqueeze(k, dim=1), unsqueeze(v, dim=1))",
        f"one_hot(k, {S}.shape[1]) * unsqueeze(v, dim=1)",
    ),
    (
        class_labels.gather_as_one_hot,
        f"index_adjoint(v, (k, k), {S}.shape)",
        f"one_hot(k, {S}.shape[1]) * unsqueeze(v, dim=1)",
    ),
    (
        class_labels.sum_of_a_row,
        "sum(one_hot(k, m) * unsqueeze(v, dim=1), dim=1, keepdim=True)",
        "unsqueeze(v, dim=1) * to(ones_like(sum(one_hot(k, m), dim=1, keepdim=True)), torch.float64)",
    ),
    (class_labels.spread_number, "reshape(expand(s, x.shape), y.T.shape)", "expand(s, y.T.shape)"),
    (class_labels.empty_shape, "expand(s, ())", "s"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize(
    "text",
    [
        "where(x != -100, x, 0)",  # real numbers, that happen to be others
        "where(k != 1, k, 0)",
        f"scatter_add(zeros_like{S}, 1, unsqueeze(k, dim=0), unsqueeze(v, dim=1))",
        f"index_adjoint(v, (k * 0, k), {S}.shape)",
        "sum(one_hot(k, m) * unsqueeze(v, dim=1), dim=0, keepdim=True)",
    ],
)
def test_what_is_not_known_of_labels_stays(text: str) -> None:
    for rule in (
        class_labels.drop_ignored_label,
        class_labels.scatter_as_one_hot,
        class_labels.gather_as_one_hot,
        class_labels.sum_of_a_row,
    ):
        assert alone(rule, text) == text
