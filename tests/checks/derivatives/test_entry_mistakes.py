"""Mistakes that entries show by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.derivatives.entry_mistakes import (
    Entries,
    blocks,
    common_mistake,
    factors,
    orders,
    parts,
    some_entries,
    wrong_diagonal,
    wrong_products,
)
from gradcheck.reports.phrases import say

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


A = np.array([[1.0, 2.0, 5.0], [3.0, 7.0, -4.0]])
BATCH = np.arange(1.0, 13).reshape(3, 2, 2) ** 2
#: Of `x @ A.T`, of a batch of maps, and of one without zeros.
EQUAL = np.einsum("ij,ab->iajb", np.eye(4), A)
BLOCKS = np.einsum("iab,ij->iajb", BATCH, np.eye(3))
FULL = np.arange(1.0, 37).reshape(2, 3, 2, 3)


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        (A, EQUAL, "one block alone: it belongs where the indices of axes 0 and 2 are equal, and 0 elsewhere"),
        (BATCH, BLOCKS, "the blocks alone: they belong where the indices of axes 0 and 2 are equal"),
        (np.array(2.0), 2 * np.eye(3)[:, None], "one block alone"),
        (FULL * np.eye(3)[:, None, :], FULL, "the entries at which the indices of axes 1 and 3 differ are missing"),
        (FULL.sum(axis=(0, 1)), FULL, "summed over what is differentiated: J has a row for each element of it"),
        (FULL.sum(axis=(2, 3)), FULL, "summed over the elements by which it is differentiated"),
        (A * [1, 1, 0], A, "0 stands in column 2 instead"),
        (A * [[0], [1]], A, "0 stands in row 0 instead"),
        (A * [[1, 0, 1], [0, 1, 1]], A, "0 stands at entries [0, 1] and [1, 0] instead"),
        (0 * A, A, "0 stands at some entries"),
        (A * [1, -1, -1], A, "the sign is wrong in columns 1 and 2"),
        (A * [[1, 1, 1], [1, -1, 1]], A, "the sign is wrong at entry [1, 1]"),
        (A[0] * [1, -1, 1], A[0], "the sign is wrong at entry [1]"),
        (A * [[1], [0.5]], A, "off by the factor 0.5 in row 1"),
        (A * [1, 1, 0.3], A, "off by the factor 0.3 in column 2"),
        (A * [[1, 1, 1], [1, -3, 1]], A, "off by the factor -3 at entry [1, 1]"),
        (A * [[1, 1, 1], [1, 0.37, 1]], A, ""),
        (
            np.einsum("iab,ij->iajb", BATCH, np.ones((3, 3))),
            BLOCKS,
            "right where the indices of axes 0 and 2 are equal",
        ),
        (A + A[::-1], A, ""),
    ],
)
def test_a_mistake_in_a_block_is_recognised(got: np.ndarray, want: np.ndarray, words: str) -> None:
    got = got if got.ndim else got.reshape((1,))
    found = common_mistake([Entries(got, want, want.ndim - want.ndim // 2, "J", 1e-6)], (blocks, some_entries))
    assert (words in say(found[1])) if found and words else found is None and not words


def test_places_that_vary_with_sizes_are_not_listed() -> None:
    """A block of zeros has other rows at other sizes."""
    wrong = []
    for size in (2, 3):
        want = np.concatenate([np.eye(size), np.full((size, size), 2.0)])
        wrong.append(Entries(want * (np.arange(2 * size) >= size)[:, None], want, 1, "J", 1e-6))
    found = common_mistake(wrong, (some_entries,))
    assert found is not None
    assert say(found[1]) == "0 stands at some entries instead of what belongs there"
