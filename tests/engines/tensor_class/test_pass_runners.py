"""Ways to run a backward pass that are no method of the tensor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.tensor_class.pass_runners import ForeignTape, PassRunner, ReturnedGradients, pass_by_attribute


class Node:
    bar: Any = None


A, B = Node(), Node()


def refusing(root: Any, leaves: list[Any], seed: float = 1.0) -> list[float]:
    """It knows of A alone."""
    if any(leaf is not A for leaf in leaves):
        raise KeyError("B")
    return [2.0 * seed for _ in leaves]


def test_a_function_of_the_root_alone_may_give_a_dictionary() -> None:
    assert list(PassRunner(lambda root: {root: 3.0}).run(A, [], (), {})) == [(A, 3.0)]
    assert list(PassRunner(lambda root: [3.0]).run(A, [B], (), {})) == []


def test_leaves_that_the_root_knows_nothing_of_are_left_out() -> None:
    way = PassRunner(refusing, "listed")
    assert way.parameters() == ["seed"]
    assert list(way.run(None, [A, B], (5.0,), {})) == [(A, 10.0)]
    with pytest.raises(KeyError):
        way.run(None, [B, B], (), {})
    with pytest.raises(KeyError):
        way.run(None, [B], (), {})


@pytest.mark.parametrize("given", [(1.0, 2.0), [1.0, 2.0], {A: 1.0, B: 2.0}])
def test_gradients_come_in_a_list_or_by_leaf(given: Any) -> None:
    assert list(PassRunner(lambda root, leaves: given, "listed").run(None, [A, B], (), {})) == [(A, 1.0), (B, 2.0)]


def test_gradients_come_in_an_array_that_is_made_of_a_list() -> None:
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    for given in (np.array(rows), np.array(rows, dtype=object)):
        found = list(PassRunner(lambda root, leaves, g=given: g, "listed").run(None, [A, B], (), {}))
        assert [(leaf, gradient.tolist(), gradient.dtype.name) for leaf, gradient in found] == [
            (A, [1.0, 2.0], "float64"),
            (B, [3.0, 4.0], "float64"),
        ]


def test_one_leaf_after_the_other() -> None:
    way = PassRunner(lambda root, leaf: 1.0 if leaf is A else 2.0, "each")
    assert list(way.run(None, [A, B], (), {})) == [(A, 1.0), (B, 2.0)]


def test_the_gradient_of_the_root_may_have_to_be_put_there() -> None:
    root, way = Node(), pass_by_attribute("bar")
    assert (list(way.run(root, [], (), {})), root.bar, way.returns_gradients) == ([], 1.0, False)
    way.run(root, [], (0.5,), {})
    assert root.bar == 0.5


def test_a_tape_is_new_for_every_graph_and_closed_at_last() -> None:
    class Reel:
        open: list[Any] = []  # noqa: RUF012

        def __enter__(self) -> None:
            self.open.append(self)

        def __exit__(self, *_: object) -> None:
            self.open.remove(self)

        def gradient(self, root: Any) -> None:
            self.found = {A: 7.0}

        def __getitem__(self, leaf: Any) -> float:
            return self.found[leaf]

    tape = ForeignTape(Reel)
    tape.begin()
    first = tape.now
    tape.begin()
    assert first is not tape.now
    assert Reel.open == [tape.now]
    *_, by_leaf = tape.passes("gradient")
    assert list(by_leaf.run(None, [A], (), {})) == [(A, 7.0)]
    by_leaf.end()
    assert Reel.open == []


def test_a_tape_that_raises_when_it_ends_has_ended() -> None:
    class Failing:
        def __enter__(self) -> None: ...

        def __exit__(self, *error: Any) -> None:
            raise NameError("somewhere")

    tape = ForeignTape(Failing)
    tape.begin()
    tape.end()
    assert tape.now is None


def is_tensor(value: Any) -> bool:
    return isinstance(value, KeyedNode)


class KeyedNode(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment]


def added(*passes: dict[Any, Any]) -> ReturnedGradients:
    found = ReturnedGradients()
    for gradients in passes:
        found.add(gradients.items(), is_tensor, lambda one: None if one is None else np.asarray(one, float))
    return found


def test_passes_add_up_and_what_is_not_there_is_none() -> None:
    a, b, c = KeyedNode(), KeyedNode(), KeyedNode()
    found = added({a: [1.0, 2.0], b: 3.0, c: None}, {a: [0.5, 0.5]})
    np.testing.assert_array_equal(found.of(a), [1.5, 2.5])
    assert found.of(b) == 3.0
    assert found.of(c) is None
    assert found.of(KeyedNode()) is None


def test_gradients_may_go_by_what_tensors_are_called() -> None:
    found = added({"x": [1.0], 7: [2.0]})
    assert found.of(KeyedNode(name="x")) == [1.0]
    assert found.of(KeyedNode(name="", _id=7)) == [2.0]
    assert found.of(KeyedNode(name="y", id=8)) is None


def test_what_is_cleared_or_carried_over() -> None:
    a = KeyedNode()
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
    old, new = KeyedNode(), KeyedNode()
    found = added({old: [1.0]})
    assert found.put(new, np.array([5.0]))
    found.add([(new, [2.0])], is_tensor, lambda one: np.asarray(one, float))
    assert found.of(new) == [7.0]
    named = added({"x": [1.0]})
    assert named.put(KeyedNode(name="y"), np.array([5.0]))
    named.add([("y", [2.0])], is_tensor, lambda one: np.asarray(one, float))
    assert named.of(KeyedNode(name="y")) == [7.0]
    assert not ReturnedGradients().put(new, np.array([5.0]))  # passes give nothing back
