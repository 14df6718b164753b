"""The reverse sweep passes a gradient on after all contributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops
from gradcheck.autograd.node import Node
from gradcheck.autograd.pullback import pull_arrays, pull_nodes
from gradcheck.autograd.sweep import count_pending, sweep
from gradcheck.autograd.tensor import Tensor
from gradcheck.errors import BackwardTwice


def graph() -> tuple[Node, Node, Node]:
    """Return x, y = x * x and z = y + y * x, at x = [3]."""
    x = Node(np.array([3.0]), requires_grad=True)
    y = Node.record(x.data * x.data, ops.mul, (x, x))
    product = Node.record(y.data * x.data, ops.mul, (y, x))
    return x, y, Node.record(y.data + product.data, ops.add, (y, product))


def test_every_use_counts() -> None:
    x, y, z = graph()
    pending = count_pending([z])
    assert (pending[z], pending[y], pending[x]) == (0, 2, 3)
    assert len(pending) == 4


def test_each_node_passes_its_gradient_on_once_and_complete() -> None:
    x, y, z = graph()
    order: list[tuple[Node, float]] = []

    def pull(node: Node, gradient: Any) -> Any:
        order.append((node, gradient.item()))
        return pull_arrays(node, gradient)

    found = sweep([z], [np.ones(1)], pull)
    assert [node for node, _ in order][::2] == [z, y]
    assert dict(order)[y] == 1 + 3
    assert {node: gradient.tolist() for node, gradient in found.items()} == {x: [2 * 3 + 3 * 9]}


def test_roots_may_repeat_and_stand_below_others() -> None:
    x, y, z = graph()
    found = sweep([z, y, z], [np.ones(1)] * 3, pull_arrays)
    assert found[x].tolist() == [2 * 33 + 6]


def test_gradients_are_kept_where_asked() -> None:
    x, y, z = graph()
    assert sweep([z], [np.ones(1)], pull_arrays, keep=frozenset([y])).keys() == {x, y}
    z.retains_grad = True
    assert sweep([z], [np.ones(1)], pull_arrays).keys() == {x, z}


def test_a_released_graph_is_swept_no_more() -> None:
    x, _, z = graph()
    sweep([z], [np.ones(1)], pull_arrays, release=True)
    assert (z.freed, x.freed) == (True, False)
    with pytest.raises(BackwardTwice, match="retain_graph"):
        sweep([z], [np.ones(1)], pull_arrays)


def test_nodes_are_swept_like_arrays() -> None:
    x = Tensor([3.0], requires_grad=True)
    z = x * x + x * x * x
    found = sweep([z], [Tensor([1.0])], pull_nodes)
    assert found[x].tolist() == [33]
    assert found[x].requires_grad
