"""Gradients that passes give back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.returned_gradients import ReturnedGradients


def is_tensor(value: Any) -> bool:
    return isinstance(value, Node)


class Node(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment]


def added(*passes: dict[Any, Any]) -> ReturnedGradients:
    found = ReturnedGradients()
    for gradients in passes:
        found.add(gradients.items(), is_tensor, lambda one: None if one is None else np.asarray(one, float))
    return found


def test_passes_add_up_and_what_is_not_there_is_none() -> None:
    a, b, c = Node(), Node(), Node()
    found = added({a: [1.0, 2.0], b: 3.0, c: None}, {a: [0.5, 0.5]})
    np.testing.assert_array_equal(found.of(a), [1.5, 2.5])
    assert found.of(b) == 3.0
    assert found.of(c) is None
    assert found.of(Node()) is None


def test_gradients_may_go_by_what_tensors_are_called() -> None:
    found = added({"x": [1.0], 7: [2.0]})
    assert found.of(Node(name="x")) == [1.0]
    assert found.of(Node(name="", _id=7)) == [2.0]
    assert found.of(Node(name="y", id=8)) is None


def test_what_is_cleared_or_carried_over() -> None:
    a = Node()
    found = added({a: [1.0]})
    assert found.put(a, np.array([5.0]))
    assert found.of(a) == [5.0]
    assert found.put(a, None)
    assert found.of(a) is None
    assert not found.put(a, None)
    again = added({a: [1.0]})
    again.clear()
    assert again.of(a) is None


def test_what_is_carried_over_to_a_new_tensor_is_added_to() -> None:
    old, new = Node(), Node()
    found = added({old: [1.0]})
    assert found.put(new, np.array([5.0]))
    found.add([(new, [2.0])], is_tensor, lambda one: np.asarray(one, float))
    assert found.of(new) == [7.0]
    named = added({"x": [1.0]})
    assert named.put(Node(name="y"), np.array([5.0]))
    named.add([("y", [2.0])], is_tensor, lambda one: np.asarray(one, float))
    assert named.of(Node(name="y")) == [7.0]
    assert not ReturnedGradients().put(new, np.array([5.0]))  # passes give nothing back
