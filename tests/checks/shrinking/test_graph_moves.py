"""Whole entries and steps left out."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.shrinking.graph_moves import end_earlier, fewer_names, fewer_steps, start_later
from tests.checks.shrinking.build import entries, pinned, shapes

CHAIN = "{inputs: {x: [1, 2]}, graph: {a: x * 2, b: exp(a), c: b.sum()}}"


def test_the_pass_starts_further_up() -> None:
    found = list(end_earlier(pinned(CHAIN)))
    assert [list(case.graph) for case in found] == [["a"], ["a", "b"]]
    (root,) = found[0].steps[0].roots.values()
    assert root is not None
    np.testing.assert_array_equal(np.asarray(root.array), [1, 2])


def test_what_cannot_be_differentiated_is_no_end() -> None:
    case = pinned("{inputs: {x: [1, 2]}, graph: {m: x > 1, y: 'where(m, x, x * 2).sum()'}}")
    assert list(end_earlier(case)) == []


def test_entries_are_given_as_numbers_the_last_first() -> None:
    found = list(start_later(pinned("{inputs: {x: [1, 2]}, graph: {a: x * 2, b: exp(a), c: b.sum()}, backward: c}")))
    assert entries(found[1]) == {"c": "b.sum()"}
    assert shapes(found[1]) == {"b": (2,)}
    assert entries(found[2]) == {"b": "exp(a)", "c": "b.sum()"}


def test_another_name_for_a_tensor_goes() -> None:
    (found,) = fewer_names(pinned("{inputs: {x: [1, 2]}, graph: {a: x * 2, b: a, c: b * b}, backward: {c: [1, 1]}}"))
    assert entries(found) == {"a": "x * 2", "c": "a * a"}
    (root,) = fewer_names(pinned("{inputs: {x: [1, 2]}, graph: {a: x * 2, b: a}, backward: {b: [1, 1]}}"))
    assert list(root.steps[0].roots) == ["a"]


def test_one_step_or_root_less() -> None:
    text = """
        inputs: {x: 1}
        graph: {a: x * 2, b: x * 3}
        steps: [{backward: {a: 1, b: 1}}, {zero_grad: x}]
    """
    found = [[(step.action, list(step.roots)) for step in case.steps] for case in fewer_steps(pinned(text))]
    assert [("zero_grad", [])] in found
    assert [("backward", ["a", "b"])] in found
    assert [("backward", ["b"]), ("zero_grad", [])] in found
    assert len(found) == 4
