"""Other numbers for a problem."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.points.perturbation import HIGH, LOW, scaled_problem, varied_problem
from tests.checks.build import point_of


def test_nearby_every_number_is_scaled_by_its_own_and_zeros_stay() -> None:
    own = point_of("{inputs: {x: [0.0, 2.0, -4.0]}, constants: {k: [1, 2, 3]}, graph: {y: (x * k).sum()}}").problem
    near = scaled_problem(own, 1)
    ratios = near.inputs["x"][1:] / own.inputs["x"][1:]
    assert near.inputs["x"][0] == 0
    assert np.all((ratios >= LOW) & (ratios <= HIGH))
    assert ratios[0] != ratios[1]
    assert near.constants["k"].tolist() == [1, 2, 3]
    assert scaled_problem(own, 1).inputs["x"].tolist() == near.inputs["x"].tolist()
    assert scaled_problem(own, 2).inputs["x"].tolist() != near.inputs["x"].tolist()


def test_varied_numbers_keep_their_signs_and_what_is_made_stays_as_it_is() -> None:
    own = point_of("""
        inputs: {a: "randn(3, 3)", s: a @ a.T, x: [[1, 0], [-2, 3]]}
        graph: {y: (s @ s).sum() + x.sum() + a.sum()}
        backward: {y: 2}
    """).problem
    other = varied_problem(own, np.random.default_rng(0))
    np.testing.assert_array_equal(other.inputs["s"], own.inputs["s"])
    assert (np.sign(other.inputs["x"][[0, 1, 1], [0, 0, 1]]) == [1, -1, 1]).all()
    assert not (other.inputs["x"] == own.inputs["x"]).any()
    assert not np.array_equal(np.asarray(other.seeds[0]["y"]), np.asarray(own.seeds[0]["y"]))
