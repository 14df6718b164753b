"""Mistakes that entries show by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.derivatives.entry_mistakes import (
    Entries,
    common_mistake,
    factors,
    orders,
    parts,
    wrong_diagonal,
    wrong_products,
)

J = np.array([[1.0, 2.0], [3.0, 7.0]])
OTHER = np.array([[2.0, -1.0], [0.5, 4.0]])


def kinds(got: np.ndarray, want: np.ndarray = J, term: str = "J") -> str:
    guesses = (wrong_products, orders, factors, parts, wrong_diagonal)
    found = common_mistake([Entries(got, want, 1, term, 1e-6)], guesses)
    return found[1].kind if found else ""


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        (J.T, "derivative_transposed"),
        (-J, "derivative_constant"),
        (np.diag(np.diag(J)), "diagonal_alone"),
        (J - np.diag(np.diag(J)), "diagonal_missing"),
        (J + np.diag([1, 3]), "diagonal_wrong"),
        (J - np.eye(2), "identity_missing"),
        (np.diag(J), "diagonal_as_vector"),
        (np.triu(J), "triangle_alone"),
        (np.linalg.inv(J), "derivative_inverted"),
        (J + J.T, "transpose_term_added"),
        (J.ravel(), "derivative_reshaped"),
        (J + OTHER, ""),
        (J, ""),
    ],
)
def test_it_is_recognised(got: np.ndarray, kind: str) -> None:
    assert kinds(got) == kind


def test_a_missing_transpose_is_recognised() -> None:
    assert kinds(J, J + J.T) == "transpose_term_missing"


def test_a_product_with_the_jacobian_itself_is_one_of_operators() -> None:
    assert kinds(J.T, term="rmatvec") == "jvp_for_vjp"


def test_a_mistake_holds_at_every_point() -> None:
    one, other = Entries(J.T, J, 1, "J", 1e-6), Entries(2 * OTHER, OTHER, 1, "J", 1e-6)
    assert common_mistake([one, other], (orders, factors)) is None
    assert common_mistake([one, Entries(OTHER.T, OTHER, 1, "J", 1e-6)], (orders, factors)) is not None


def test_zeros_are_off_by_no_factor() -> None:
    assert kinds(0 * J) != "derivative_constant"


def test_a_number_for_a_multiple_of_the_identity_is_recognised() -> None:
    right = np.arange(9.0).reshape(3, 3) ** 2
    assert kinds(right + 2 * (1 - np.eye(3)), right) == "number_for_identity"


def test_a_complex_multiple_is_a_factor() -> None:
    assert kinds(0.5j * J, 1j * J) == "derivative_constant"
    assert kinds(0.5j * J, J) == ""
