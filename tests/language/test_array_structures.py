"""Structures: they are what they are called, and nothing leaves the support of what was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.dtypes import BY_NAME
from gradcheck.language.array_structures import STRUCTURES, apply_structure, structure_creator

NORMAL = np.random.default_rng(0).standard_normal((3, 4))


def test_structures_are_what_they_are_called() -> None:
    made = {structure: apply_structure(NORMAL, structure) for structure in STRUCTURES}
    assert np.ptp(made["equal"]) == 0
    assert (made["lowest"] < 0).all()
    assert (made["highest"] > 0).all()
    assert (np.diff(made["ascending"].ravel()) > 0).all()
    assert (np.diff(made["descending"].ravel()) < 0).all()
    assert (np.diff(np.sign(made["alternating"]).ravel()) != 0).all()
    assert (made["whole"] == np.rint(NORMAL)).all()
    assert 0 < abs(made["close"][0, 0] - made["close"][0, 1]) < 1e-7 * abs(made["close"][0, 0])
    assert np.linalg.det(apply_structure(NORMAL[:, :3], "unit")) == 1


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_support_is_kept(structure: str) -> None:
    drawn = np.random.default_rng(1).uniform(2, 3, 7)
    made = structure_creator("uniform", drawn, (2, 3), structure)  # type: ignore[arg-type]
    assert made.min() >= drawn.min()
    assert made.max() <= drawn.max()
    whole = structure_creator("randint", np.array([3, 1, 1]), (0, 5, [3]), structure)  # type: ignore[arg-type]
    assert whole.dtype.kind == "i"
    assert set(whole.tolist()) <= set(range(5))
    order = structure_creator("randperm", np.array([2, 0, 1]), (3,), structure)  # type: ignore[arg-type]
    assert sorted(order.tolist()) == [0, 1, 2]


def test_nothing_is_made_of_nothing() -> None:
    assert apply_structure(np.zeros((0, 2)), "equal").shape == (0, 2)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_number_stays_an_array(structure: str) -> None:
    for bounded in (False, True):
        assert type(apply_structure(np.array(0.5), structure, is_bounded=bounded)) is np.ndarray


def test_integers_reach_both_ends() -> None:
    drawn = np.array([2, 2, 2, 2])
    assert structure_creator("randint", drawn, (0, 9, [4]), "lowest").tolist() == [0, 0, 0, 0]
    assert structure_creator("randint", drawn, (0, 9, [4]), "alternating").tolist() == [0, 8, 0, 8]
    assert apply_structure(np.array([True, False]), "highest").tolist() == [True, True]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_numbers_that_are_close_are_not_equal(dtype: str) -> None:
    made = apply_structure(NORMAL.astype(BY_NAME[dtype]), "close")
    assert made.dtype == BY_NAME[dtype]
    assert made[0, 0] != made[0, 1]
    assert abs(float(made[0, 0]) - float(made[0, 1])) < 0.1 * abs(float(made[0, 0]))


def test_mirrored_numbers_are_equal_but_for_their_signs() -> None:
    made = apply_structure(NORMAL, "mirrored")
    assert len(set(np.abs(made).ravel().tolist())) == 1
    assert len(set(made.ravel().tolist())) == 2
