"""Comparisons of a library's objects."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from gradcheck.engines.tensor_class.comparisons import count_comparisons


class Node: ...


@dataclass
class Pair:
    left: int


class Keyed:
    def __hash__(self) -> int:
        return 7


def test_what_a_list_is_looked_through_for_is_counted() -> None:
    nodes = [Node() for _ in range(10)]
    with count_comparisons([Node]) as count:
        assert Node() not in nodes
        assert count.number == 20  # either is asked
        assert nodes[0] in nodes  # the very same needs no question
        assert nodes[3] in set(nodes)
    assert count.number == 20


def test_classes_are_as_before_afterwards() -> None:
    before = Node.__eq__, Node.__hash__, Pair.__eq__, Keyed.__eq__
    with count_comparisons([Node, Pair, Keyed]):
        assert (Node.__hash__, Pair.__eq__, Keyed.__eq__) == before[1:]
        assert Node.__eq__ is not before[0]
        assert Node() != Node()
    assert (Node.__eq__, Node.__hash__, Pair.__eq__, Keyed.__eq__) == before
    assert "__eq__" not in vars(Node)


def test_a_modules_own_classes_are_meant() -> None:
    module = ModuleType("theirs")
    own = type("Own", (), {"__module__": "theirs"})
    vars(module).update(Own=own, Node=Node)
    with count_comparisons([module]) as count:
        assert own() not in [own(), own()]
        assert Node() not in [Node()]
    assert count.number == 4
