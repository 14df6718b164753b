"""Problems written out as cases, and single changes of these."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.shrinking.case_edits import (
    count_numbers,
    count_operations,
    fresh_name,
    given_tensors,
    literal,
    value_of,
    values_of,
    with_arrays,
    with_entry,
    with_leaf,
    with_step,
    with_tensor_value,
)
from gradcheck.language.case import Step, Value
from gradcheck.language.expr.parser import parse
from gradcheck.language.loader import load
from gradcheck.language.sampling import draw
from gradcheck.language.trial_draws import can_vary_in_trials
from tests.checks.shrinking.build import entries, pin, pinned, shapes
from tests.paths import CASES

CASE = """
    dims: {n: 2}
    inputs: {x: "ones(n)"}
    constants: {c: [3, 4]}
    graph: {y: x * c + n, z: y * y}
    backward: {z: [1, 1]}
"""


def test_pinned_cases_come_out_the_same() -> None:
    cases, _ = load(CASES / "nn")
    for case in cases:
        problem = draw(case)
        again = draw(pin(problem))
        assert again.dtype == problem.dtype
        for name, array in {**problem.inputs, **problem.constants}.items():
            other = again.inputs.get(name, again.constants.get(name))
            assert other is not None
            assert other.dtype == array.dtype
            np.testing.assert_array_equal(other, array)
        for mine, theirs in zip(problem.seeds, again.seeds, strict=True):
            assert mine.keys() == theirs.keys()


def test_nothing_varies_any_more() -> None:
    case = pinned("{dims: {n: 2}, seed: 3, inputs: {x: 'randn(n)'}, graph: {y: x.sum()}, generalize: true}")
    assert not can_vary_in_trials(case)
    assert (dict(case.dims), case.seed, case.generalize) == ({"n": 2}, 0, None)


@pytest.mark.parametrize(
    ("dtype", "leaf", "stated"),
    [("float32", True, ""), ("float64", True, "float64"), ("int64", False, ""), ("int32", False, "int32")],
)
def test_a_dtype_is_stated_where_the_file_would_give_another(dtype: str, leaf: bool, stated: str) -> None:
    assert literal(np.ones(2, dtype), np.dtype("float32"), leaf=leaf).dtype == stated


def test_ops_and_numbers_are_counted() -> None:
    assert count_operations(pinned(CASE)) == 3
    assert count_numbers(pinned(CASE)) == 6


def test_values_are_computed_as_far_as_they_can_be() -> None:
    values = values_of(pinned(CASE))
    np.testing.assert_array_equal(values["z"], [25, 36])
    broken = values_of(pinned("{inputs: {x: [1, 2]}, graph: {y: 'x @ ones(3)', z: x + 1}}"))
    assert "z" not in broken
    assert value_of(parse("x @ ones(3)"), broken) is None
    np.testing.assert_array_equal(value_of(parse("x + 1"), broken), [2, 3])


def test_entries_leaves_and_steps() -> None:
    case = pinned(CASE)
    assert entries(with_entry(case, "y", parse("x"))) == {"y": "x", "z": "y * y"}
    assert "t" in with_leaf(case, "t", np.ones(2)).inputs
    assert "t" in with_leaf(case, "t", np.ones(2, bool)).constants
    assert with_step(case, 0, Step("zero_grad")).steps == (Step("zero_grad"),)


def test_a_fresh_name_is_nobodys() -> None:
    assert fresh_name(pinned("{inputs: {t0: 1}, constants: {t2: 1}, graph: {t1: t0 * t2}}")) == "t3"


def test_everything_given_can_be_changed_where_it_stands() -> None:
    case = pinned(CASE)
    assert [(one.section, one.name) for one in given_tensors(case)] == [
        ("inputs", "x"),
        ("constants", "c"),
        ("roots", "z"),
    ]
    for index, one in enumerate(given_tensors(case)):
        other = list(given_tensors(with_tensor_value(case, one, Value(np.zeros(1)))))
        assert [np.shape(now.value.array) == (1,) for now in other] == [at == index for at in range(3)]


def test_all_arrays_change_together_and_sizes_with_them() -> None:
    smaller = with_arrays(pinned(CASE), lambda array: array[:1], {2: 1})
    assert shapes(smaller) == {"x": (1,), "c": (1,)}
    assert dict(smaller.dims) == {"n": 1}
    assert [np.shape(one.value.array) for one in given_tensors(smaller)] == [(1,)] * 3


def test_what_comes_to_no_array_stays_where_arrays_are_changed() -> None:
    case = pinned("inputs: {x: [1, 2, 3, 4]}\ngraph: {y: x * x}\nbackward: {y: 'ones_like(y)'}")
    lost = with_step(case, 0, Step("backward", roots={"y": Value()}))
    changed = with_arrays(lost, lambda array: array[:1], {})
    assert changed.steps[0].roots["y"] == Value()
    assert shapes(changed)["x"] == (1,)
