"""Cases with small integers: the smallest sizes, domains, incoming gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gradcheck.errors import InvalidCase
from gradcheck.language.case import Case
from gradcheck.language.loader import load
from gradcheck.oracles.numeric.small_integers import smallest_sizes, with_small_integers
from tests.from_text import case_of

TEXT = """
name: numbers
dims: {m: 4, n: 5}
inputs: {x: "randn(m, n)", s: x @ x.T}
constants:
  w: randn(n)
  half: [0.5, 1.5]
  index: "randint(0, m, [n])"
graph: {y: "(s.sum() + x.sum()) * w", z: y * half.sum()}
backward: {z: "randn(n)"}
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    path = tmp_path / "case.yaml"
    path.write_text(TEXT)
    return load([path]).cases[0]


def test_sizes_grow_by_their_sum(case: Case) -> None:
    sizes = [tuple(one.values()) for one in smallest_sizes(case) if one is not None]
    assert sizes[:4] == [(1, 1), (1, 2), (2, 1), (1, 3)]
    assert [sum(one) for one in sizes] == sorted(sum(one) for one in sizes)
    assert len(set(sizes)) == len(sizes) == 49
    assert sizes[-1] == (7, 7)


def test_limits_of_the_case_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(TEXT + "formulas: {x: 0 * x}\ngeneralize: {dims: {m: [2, 3], n: [4, 4]}}\n")
    (limited,) = load([path]).cases
    assert list(smallest_sizes(limited)) == [{"m": 2, "n": 4}, {"m": 3, "n": 4}]


def test_a_case_without_symbolic_sizes_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("name: fixed\ninputs: {x: [1, 2]}\ngraph: {y: x.sum()}\n")
    (fixed,) = load([path]).cases
    assert list(smallest_sizes(fixed)) == [None]


def test_numbers(case: Case) -> None:
    problem = with_small_integers(case, {"m": 2, "n": 3}, np.random.default_rng(0), (-2, -1, 1, 2))
    x = problem.inputs["x"]
    assert x.shape == (2, 3)
    assert set(np.abs(x).ravel()) <= {1, 2}
    assert len(set(x.ravel()[:4])) == 4  # different ones as long as there are any
    assert np.array_equal(problem.inputs["s"], x @ x.T)
    assert np.all(problem.constants["w"] == np.rint(problem.constants["w"]))
    assert problem.constants["half"].tolist() == [0.5, 1.5]
    assert problem.constants["index"].dtype == np.int64
    seed = problem.seeds[0]["z"]
    assert seed is not None
    assert np.all(seed == np.rint(seed))
    assert problem.dtype == np.float64


def test_too_many_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("name: large\ninputs: {x: 'randn(20, 20)'}\ngraph: {y: x.sum()}\n")
    (large,) = load([path]).cases
    with pytest.raises(InvalidCase):
        with_small_integers(large, None, np.random.default_rng(0), (1, 2))


def test_a_stated_domain_is_kept() -> None:
    case = case_of("""
        inputs: {p: "rand(6)", q: "uniform(0.5, 2.5, [4])", r: "uniform(-0.2, 0.2, [5])", s: "uniform(7, 20, [3])"}
        graph: {y: p.sum() + q.sum() + r.sum() + s.sum()}
    """)
    for integers in ((1, 2, 3), (-3, -2, -1, 1, 2, 3)):
        drawn = with_small_integers(case, None, np.random.default_rng(0), integers).inputs
        assert set(drawn["p"].tolist()) == {0.25, 0.5, 0.75}
        assert set(drawn["q"].tolist()) == {1, 2}
        assert np.all(np.abs(drawn["r"]) <= 0.2)
        assert np.all((drawn["s"] >= 7) & (drawn["s"] == np.round(drawn["s"])))
