"""What a trial draws: sizes, numbers, and whether it draws anything at all."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from gradcheck.errors import TensorError
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import draw
from gradcheck.language.trial_draws import (
    LAST_ATTEMPT,
    apply_spread,
    can_vary_in_trials,
    graph_sizes,
    inner_roots,
    is_fixed_incoming,
    mentions_root_gradient,
    move_numbers,
    moves_literals,
    needs_varied_incoming,
    redraw_literal,
    symbolic_sizes,
    trial_sizes,
    trial_spread,
    trials,
)


def one(text: str) -> Case:
    cases, errors = load_text(text, "f.yaml")
    assert [str(e) for e in errors] == []
    return cases[0]


def of(inputs: str, graph: str = "{y: x * 2}", **sections: str) -> Case:
    rest = "".join(f"{name}: {text}\n" for name, text in sections.items())
    return one(f"inputs: {inputs}\ngraph: {graph}\n{rest}")


CASE = """\
inputs:
  x: [[1.5, 2], [3, 4]]
  w: randn(k, 2)
  fixed: [1, 2]
constants:
  i: [3, 9, 5]
  m: [true, false]
  b: [0.5, 1, 2]
dims: {k: 3, unused: 2}
graph: {y: x * 2, z: w.sum()}
backward: {y: [[1, 2], [3, 4]], z: 2}
shapes: {x: [a, d], i: [c], m: [d], b: 'uniform(5, 6, [c])'}
formulas: {x: 2 * grad(y)}
"""


@pytest.mark.parametrize("trial", range(8))
def test_a_trial_draws_what_is_symbolic(trial: int) -> None:
    problem = draw(one(CASE), trial=trial)
    sizes = problem.sizes
    assert set(sizes) == {"a", "c", "d", "k", "unused"}
    assert sizes["unused"] == 2
    assert all(1 <= sizes[word] <= 11 for word in "acdk")
    assert problem.inputs["x"].shape == (sizes["a"], sizes["d"])
    assert problem.inputs["w"].shape == (sizes["k"], 2)
    assert problem.inputs["fixed"].tolist() == [1, 2]
    i, m, b = (problem.constants[name] for name in "imb")
    assert (i.shape, m.shape, b.shape) == ((sizes["c"],), (sizes["d"],), (sizes["c"],))
    assert (i.dtype, m.dtype) == (np.int64, np.bool_)
    assert 3 <= i.min() <= i.max() <= 9
    assert 5 <= b.min() <= b.max() <= 6
    (seeds,) = problem.seeds
    assert seeds["y"] is not None
    assert seeds["z"] is not None
    assert seeds["y"].shape == problem.inputs["x"].shape
    assert seeds["z"] == 2


def test_each_size_is_once_1_and_once_above_7_and_each_pair_once_equal_and_once_different() -> None:
    case = one(CASE)
    words = "acdk"
    for seed in range(5):
        drawn = [trial_sizes(case, seed, trial) for trial in range(3)]
        assert all(1 in {sizes[word] for sizes in drawn} for word in words)
        assert all(max(sizes[word] for sizes in drawn) > 7 for word in words)
        for a, b in combinations(words, 2):
            assert {sizes[a] == sizes[b] for sizes in drawn} == {True, False}
    assert trial_sizes(case, 0, 0) == trial_sizes(case, 0, 0)
    assert any(trial_sizes(case, 0, 0, attempt) != trial_sizes(case, 0, 0) for attempt in range(2, 8))
    assert trial_sizes(case, 0, 0, held=("a", "c"))["a"] == 2
    generic = [trial_sizes(case, seed, 1_000_001)[word] for seed in range(3) for word in words]
    assert 1 not in generic


def test_more_sizes_than_primes_are_still_distinct_as_long_as_they_can() -> None:
    words = "abcdefghi"
    text = "".join(f"  {word}{word}: [1]\n" for word in words)
    shapes = ", ".join(f"{word}{word}: [{word}]" for word in words)
    case = one(f"inputs:\n{text}graph: {{y: aa * 2}}\nshapes: {{{shapes}}}\n")
    for trial in range(5):
        drawn = trial_sizes(case, 0, trial)
        assert set(drawn) == set(words)
    assert len(set(trial_sizes(case, 0, 1_000_001).values())) >= 6


def test_bounds_of_sizes() -> None:
    text = CASE + "generalize: {dims: {a: [100, 120], d: [2, 2], k: [0, 0]}}\n"
    for trial in range(6):
        sizes = trial_sizes(one(text), 0, trial)
        assert 100 <= sizes["a"] <= 120
        assert (sizes["d"], sizes["k"]) == (2, 0)


def test_sizes_that_never_fit_end_with_the_cases_own() -> None:
    case = of("{x: randn(n), w: [1, 2, 3]}", "{y: x * w}", dims="{n: 3}", backward="{y: randn_like(y)}")
    with pytest.raises(TensorError):
        draw(case, trial=0)
    assert draw(case, trial=0, attempt=LAST_ATTEMPT).sizes == {"n": 3}


def test_sizes_that_do_not_fit_do_not_keep_the_others_from_being_drawn() -> None:
    case = of("{x: randn(n), w: [1, 2, 3], v: randn(m)}", "{y: x * w, z: v.sum()}", dims="{n: 3, m: 9}")
    drawn = [trial_sizes(case, 0, trial, attempt) for trial in range(3) for attempt in range(4, LAST_ATTEMPT)]
    assert any(sizes["n"] == 3 and sizes["m"] != 9 for sizes in drawn)
    assert any(sizes["m"] == 9 for sizes in drawn)  # beyond what is drawn: the case's own
    assert not any(trial_sizes(case, 0, trial, attempt)["m"] == 9 for trial in range(3) for attempt in range(4))


@pytest.mark.parametrize(
    ("case", "general"),
    [
        (of("{x: [1, 2]}", formulas="{x: 2}"), False),
        (of("{x: randn(2)}", formulas="{x: 2}"), True),
        (of("{x: [1, 2]}", shapes="{x: [n]}", formulas="{x: 2}"), True),
        (of("{x: ones(n)}", dims="{n: 2}", formulas="{x: 2}"), True),
        (of("{x: [1, 2]}", dims="{n: 2}", formulas="{x: n}"), False),
        (of("{x: [1, 2]}", backward="{y: randn_like(y)}", formulas="{x: 2}"), True),
        (of("{x: [1, 2]}", steps="[{forward: {x: randn(2)}}, {backward: {y: [1, 1]}}]"), True),
    ],
)
def test_what_is_general(case: Case, general: bool) -> None:
    assert can_vary_in_trials(case) == general
    expected = 3 if general and case.generalize else 0
    assert len(trials(case)) == expected
    assert len(trials(case, 7)) == (7 if expected else 0)


def test_symbolic_sizes_are_those_that_something_is_written_with() -> None:
    assert symbolic_sizes(one(CASE)) == ["k", "a", "d", "c"]
    assert symbolic_sizes(of("{x: [1, 2]}", dims="{n: 2}")) == []
    exponent = of("{x: [1, 2]}", "{y: x ** k}", dims="{k: 2}")
    assert (symbolic_sizes(exponent), graph_sizes(exponent)) == (["k"], ["k"])
    assert graph_sizes(one(CASE)) == []


def test_other_numbers_of_the_same_kind() -> None:
    generator = stream(0, "x")
    floats = redraw_literal(np.zeros(2), (20_000,), generator)
    assert abs(floats.std() - 1) < 0.05
    assert abs(np.abs(redraw_literal(np.zeros(2, complex), (20_000,), generator)).mean() ** 2 - np.pi / 4) < 0.05
    integers = redraw_literal(np.array([3, 9], np.int8), (200,), generator)
    assert (set(integers.tolist()), integers.dtype) == (set(range(3, 10)), np.int8)
    assert set(redraw_literal(np.array([True, False]), (20,), generator).tolist()) == {True, False}
    assert redraw_literal(np.zeros(0, np.int64), (2, 2), generator).tolist() == [[0, 0], [0, 0]]


def test_numbers_that_are_moved_near_keep_their_signs_and_symmetry() -> None:
    array = np.array([[4.0, -1.0], [-1.0, 0.0]])
    near = move_numbers(array, stream(0, "x"), "near")
    assert np.array_equal(near, near.T)
    assert (np.sign(near)[array != 0] == np.sign(array)[array != 0]).all()
    assert (np.abs(near)[array != 0] >= 0.5 * np.abs(array)[array != 0]).all()
    assert 0 < abs(near[1, 1]) <= 2
    assert move_numbers(np.array([1, 2]), stream(0, "x"), "near").tolist() == [1, 2]
    assert not np.array_equal(move_numbers(np.array([[1.0, 2.0], [3.0, 4.0]]), stream(0, "x"), "near")[0], [1.0, 2.0])
    turned = move_numbers(np.array([1 + 1j, 2.0]), stream(0, "x"), "near")
    assert (turned.imag != 0).all()


def test_numbers_that_are_moved_anywhere_keep_nothing() -> None:
    array = np.array([[4.0, 1.0], [1.0, 3.0]])
    far = [move_numbers(array, stream(seed, "x"), "anywhere") for seed in range(5)]
    assert any((one < 0).any() for one in far)
    assert not any(np.array_equal(one, one.T) for one in far)


def test_every_other_attempt_draws_ordinary_numbers() -> None:
    assert [trial_spread(trial, 0) for trial in (None, 0, 1, 2)] == ["ordinary", "ordinary", "scales", "integers"]
    assert {trial_spread(trial, 1) for trial in range(3)} == {"ordinary"}
    normal = stream(0, "n").standard_normal(4000)
    scales = np.abs(apply_spread(normal, stream(0, "x"), "scales"))
    assert ((scales < 1e-3).mean() > 0.05, (scales > 5).mean() > 0.02) == (True, True)
    integers = apply_spread(normal, stream(0, "x"), "integers")
    assert 0.2 < (integers == np.round(integers)).mean() < 0.5
    assert (integers == 0).any()


def test_which_incoming_gradients_have_no_freedom() -> None:
    def rigid(seed: str) -> bool:
        case = of("{x: randn(n), s: randn(n)}", dims="{n: 2}", backward=f"{{y: '{seed}'}}")
        return is_fixed_incoming(case, case.steps[0].roots["y"])

    assert all(map(rigid, ("ones(n)", "ones_like(y)", "full([n], 2.0)", "2 * ones(y.shape)", "eye(n)[0]")))
    assert not any(map(rigid, ("randn(n)", "randn_like(y)", "y / y.sum()", "s * s")))
    assert is_fixed_incoming(of("{x: [1, 2]}"), None)


def test_what_speaks_of_a_root() -> None:
    case = of("{x: randn(2)}", "{h: x * x, y: h * 2}", backward="{y: [1, 1]}", let="{t: 2 * grad(y)}",
              formulas="{x: [t * 2 * x, grad(h) * 2 * x, 4 * x]}")  # fmt: skip
    assert [mentions_root_gradient(case, claim.expr) for claim in case.formulas["x"]] == [True, False, False]
    assert needs_varied_incoming(case)
    free = of("{x: randn(2)}", backward="{y: randn(2)}", formulas="{x: 2 * grad(y)}")
    assert not needs_varied_incoming(free)


def test_roots_below_others() -> None:
    case = of("{x: randn(2)}", "{h: x * x, y: h * 2}", backward="{y: [1, 1], h: [1, 2]}")
    assert inner_roots(case) == {"h"}
    assert inner_roots(of("{x: randn(2)}", backward="{y: [1, 1]}")) == set()


def test_literals_move_unless_they_have_a_shape_of_their_own() -> None:
    assert moves_literals(one("{inputs: {x: [1.0]}, graph: {y: x}}"))
    assert not moves_literals(one("{inputs: {x: randn(2)}, graph: {y: x.sum()}}"))
    assert not moves_literals(one("{inputs: {x: [1.0, 2.0]}, shapes: {x: [n]}, graph: {y: x.sum()}}"))
