"""Single changes of a case."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.shrinking.case_edits import (
    fresh_name,
    given,
    numbers_in,
    operations,
    value_of,
    values_of,
    with_arrays,
    with_entry,
    with_given,
    with_leaf,
    with_step,
)
from gradcheck.language.case import Step, Value
from gradcheck.language.expr.parser import parse
from tests.checks.shrinking.build import entries, pinned, shapes

CASE = """
    dims: {n: 2}
    inputs: {x: "ones(n)"}
    constants: {c: [3, 4]}
    graph: {y: x * c + n, z: y * y}
    backward: {z: [1, 1]}
"""


def test_ops_and_numbers_are_counted() -> None:
    assert operations(pinned(CASE)) == 3
    assert numbers_in(pinned(CASE)) == 6


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
    assert [(one.section, one.name) for one in given(case)] == [("inputs", "x"), ("constants", "c"), ("roots", "z")]
    for index, one in enumerate(given(case)):
        other = list(given(with_given(case, one, Value(np.zeros(1)))))
        assert [np.shape(now.value.array) == (1,) for now in other] == [at == index for at in range(3)]


def test_all_arrays_change_together_and_sizes_with_them() -> None:
    smaller = with_arrays(pinned(CASE), lambda array: array[:1], {2: 1})
    assert shapes(smaller) == {"x": (1,), "c": (1,)}
    assert dict(smaller.dims) == {"n": 1}
    assert [np.shape(one.value.array) for one in given(smaller)] == [(1,)] * 3
