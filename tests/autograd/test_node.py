"""Nodes: what they were made from, and the way down from a root."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.node import Node, nodes, plain, walk

X, Y = Node(np.ones(2), requires_grad=True), Node(np.zeros(2))


def test_a_leaf_was_made_from_nothing() -> None:
    assert (X.arguments, X.creators, X.is_leaf) == ((), (), True)
    assert (X.shape, X.dtype, X.ndim, len(X)) == ((2,), np.float64, 1, 2)


def test_wrapping_shares_the_array_and_is_of_the_class_that_wraps() -> None:
    class Kind(Node):
        __slots__ = ()

    array = np.ones(2)
    wrapped = Kind.wrap(array)
    assert type(wrapped) is Kind
    assert wrapped.data is array
    assert not wrapped.requires_grad


def test_an_operator_records_what_recording_does() -> None:
    x = Tensor(np.ones(2), requires_grad=True)
    general = Tensor.record(np.ones(2), ops.mul, (x, 2.0))
    for node in (x * 2.0, general):
        assert (node.arguments, node.creators, node.creation_op) == ((x, 2.0), (x,), ops.mul)
        assert node.requires_grad
        assert not node.is_leaf


def test_a_sequence_of_nodes_counts_every_use() -> None:
    args = ((X, Y, X), 0)
    assert nodes(ops.cat, args) == [X, Y, X]
    assert [part.tolist() for part in plain(ops.cat, args)[0]] == [[1, 1], [0, 0], [1, 1]]
    assert plain(ops.cat, args)[1] == 0


def test_walking_meets_every_node_once() -> None:
    square = Node.record(np.ones(2), ops.mul, (X, X))
    top = Node.record(np.ones(2), ops.add, (square, Y))
    assert set(walk([top, square])) == {top, square, X, Y}
    assert len(list(walk([top, top]))) == 4


def test_walking_knows_no_depth() -> None:
    node = X
    for _ in range(50_000):
        node = Node.record(node.data, ops.neg, (node,))
    assert sum(1 for _ in walk([node])) == 50_001
