"""What was forgotten, put in."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction import insertion_edits
from gradcheck.checks.failures.correction.edits import EditRule
from tests.checks.failures.correction.test_edits import made


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (insertion_edits.add_missing_function, "x", (), ["abs(x)"]),
        (insertion_edits.add_missing_function, "abs(x)", (0,), []),
        (insertion_edits.add_missing_function, "x * y", (), []),
        (insertion_edits.add_missing_term, "x", (), ["x + x * y", "x - y"]),
        (insertion_edits.add_missing_term, "x * y + x", (), ["x * y + x - y"]),
        (insertion_edits.add_missing_term, "x + y", (0,), []),
        (insertion_edits.add_missing_condition, "x * y", (), ["where(x < 9, x * y, 0)", "where(v == 0, 0, x * y)"]),
        (insertion_edits.add_missing_condition, "v", (), ["where(v == 0, 0, v)"]),
        (insertion_edits.add_missing_condition, "exp(x)", (0,), []),
        (insertion_edits.add_missing_condition, "x * y", (0,), []),
        (insertion_edits.symmetrise, "A", (), ["A + A.T", "(A + A.T) / 2"]),
        (insertion_edits.symmetrise, "2 * A @ v", (0,), ["A + A.T"]),
        (insertion_edits.symmetrise, "x", (), []),
        (insertion_edits.add_missing_sum, "v", (), ["sum(v, dim=0)", "sum(v, dim=0, keepdim=True)"]),
    ],
)
def test_what_is_put_in(edit: EditRule, text: str, path: tuple[int, ...], expected: list[str]) -> None:
    assert made(edit, text, path) == expected


def test_a_dropped_factor_is_elementwise_or_of_a_product_of_matrices() -> None:
    assert made(insertion_edits.add_missing_factor, "v") == ["v * v", "v / v"]
    products = {text for text in made(insertion_edits.add_missing_factor, "x") if "@" in text}
    assert products == {"x @ x.T", "x.T @ x", "x @ y.T", "y.T @ x", "x @ A", "x @ A.T"}


def test_a_factor_of_elements_is_dropped_in_a_sum_or_a_product_of_matrices() -> None:
    within_sum = made(insertion_edits.add_missing_factor, "x.sum(dim=0)", (0,), ["x - y"])
    assert within_sum == ["x * x", "x * y", "x * (x - y)"]
    assert "x * y" in made(insertion_edits.add_missing_factor, "x @ A", (0,))
    assert "A * v[:, None]" in made(insertion_edits.add_missing_factor, "A.sum(dim=0)", (0,))


def test_a_tensor_is_completed_to_a_sum_of_the_graph() -> None:
    parts = ["x - y", "y / x", "2 * x"]
    assert made(insertion_edits.complete_tensor, "x * y", (0,), parts) == ["x - y"]
    assert made(insertion_edits.complete_tensor, "v * y", (0,), parts) == []
    assert "(x + y) / (x - y)" in made(insertion_edits.add_missing_factor, "x + y", (), parts)
