"""The compiled sweep gives the general results, and overwrites nothing."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd import Tensor
from gradcheck.autograd.compiled.calls import WORTH_IT
from gradcheck.autograd.compiled.compiled_sweep import count_pending, sweep_compiled
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.sweep import count_pending as count_in_general
from gradcheck.autograd.sweep import sweep
from gradcheck.errors import BackwardTwice
from tests.autograd.compiled.kit import leaf


def graph(stream: np.random.Generator) -> tuple[list[Tensor], Tensor]:
    """Return the tensors of a random graph with repeated uses, and its last."""
    made = [leaf(2, 3), leaf(3), leaf(2, 1, requires_grad=False)]
    for _ in range(12):
        one, other = (made[number] for number in stream.integers(len(made), size=2))
        made.append([one * other, one + other, one.tanh(), one - 0.5][stream.integers(4)])
    return made, made[-1] + made[-2]


@pytest.mark.parametrize("seed", range(20))
def test_it_gives_what_the_general_sweep_gives(seed: int) -> None:
    stream = np.random.default_rng(seed)
    made, last = graph(stream)
    roots = [node for node in (last, made[-4]) if node.requires_grad]
    seeds = [stream.standard_normal(root.shape) for root in roots]
    made[5].retains_grad, keep = True, frozenset(made[6:8])
    found = sweep_compiled(roots, [seed.copy() for seed in seeds], keep=keep)
    wanted = sweep(roots, seeds, pull_arrays, keep=keep)
    assert found.keys() == wanted.keys()
    assert wanted
    for node, gradient in found.items():
        np.testing.assert_allclose(gradient, wanted[node], rtol=1e-13, atol=1e-13)
    pending, general = count_pending(roots), count_in_general(roots)
    assert {node: abs(count) for node, count in pending.items()} == general


def test_a_freed_graph_is_swept_no_more() -> None:
    x = leaf(2)
    y = x * 2.0
    sweep_compiled([y], [np.ones(2)], release=True)
    assert y.freed
    with pytest.raises(BackwardTwice, match="retain_graph"):
        sweep_compiled([y * 3.0], [np.ones(2)])


def test_seeds_retained_gradients_and_values_are_not_written_over() -> None:
    x, seed = leaf(2, 3), np.full((2, 3), 2.0)
    for _ in range(3 * WORTH_IT):
        y = x.tanh().sigmoid()
        y.retain_grad()
        z = y + y * y + y
        z.backward(seed)
    assert y.grad is not None
    np.testing.assert_allclose(y.grad.data, 4 + 4 * y.data, rtol=1e-15)
    np.testing.assert_array_equal(y.data, 1 / (1 + np.exp(-np.tanh(x.data))))
    assert (seed == 2).all()


def test_sums_are_written_over_where_nobody_else_holds_them() -> None:
    """The gradient that `z` retains is also the first contribution to `y`."""
    x = leaf(2, 3)
    y = x * 1.0
    z = y * 1.0 + y
    z.retain_grad()
    (z * 3.0).backward(np.ones((2, 3)))
    assert z.grad is not None
    assert z.grad.tolist() == [[3] * 3] * 2
    assert x.grad is not None
    assert x.grad.tolist() == [[6] * 3] * 2


def test_a_sum_that_one_other_holds_is_not_written_over() -> None:
    """The retained gradient of `z` holds the first contribution to `y`."""
    x = leaf(2, 3)
    y = x * 1.0
    z = (y * 2.0) * (y * 3.0) + y
    z.retain_grad()
    (z * 3.0).backward(np.ones((2, 3)))
    assert z.grad is not None
    assert z.grad.tolist() == [[3] * 3] * 2
