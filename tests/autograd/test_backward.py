"""Backward passes: contributions, repeated uses, deep graphs."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd import Tensor, grad, no_grad
from gradcheck.errors import BackwardTwice, DtypeMismatch, NoGradRequired, NonScalarBackward, ShapeMismatch


def leaf(*values: float) -> Tensor:
    return Tensor(np.array(values, dtype=float), requires_grad=True)


def gradient(tensor: Tensor) -> list[float]:
    assert tensor.grad is not None
    return list(tensor.grad.data.ravel())


def test_a_tensor_used_twice_by_each_of_two_generations() -> None:
    x = leaf(2, 2, 2, 2)
    y = x + x
    z = y + y
    z.backward(np.ones(4))
    assert gradient(x) == [4, 4, 4, 4]


def test_a_tensor_shared_by_two_children_gets_both_contributions() -> None:
    a, b, c = leaf(1, 2), leaf(3, 4), leaf(5, 6)
    ((a + b) + (b + c)).backward(np.ones(2))
    assert (gradient(a), gradient(b), gradient(c)) == ([1, 1], [2, 2], [1, 1])


def test_contributions_along_paths_of_different_length_are_all_awaited() -> None:
    x = leaf(3.0)
    long = x * 2
    for _ in range(10):
        long = long + x
    (long * x).backward()
    assert gradient(x) == [2 * 12 * 3.0]


def test_a_leaf_used_three_times_by_one_child() -> None:
    from gradcheck.autograd import ops

    x = leaf(1.0, 2.0)
    ops.cat([x, x, x]).backward(np.arange(6.0))
    assert gradient(x) == [0 + 2 + 4, 1 + 3 + 5]


def test_backward_accumulates_and_zero_grad_forgets() -> None:
    w = leaf(1.0)
    for expected in (3, 6, 9):
        (w * 3).backward()
        assert gradient(w) == [expected]
    w.zero_grad()
    assert w.grad is None


def test_a_pass_without_gradient_needs_one_element() -> None:
    with pytest.raises(NonScalarBackward, match=r"shape \(2,\)"):
        (leaf(1, 2) * 2).backward()
    one = Tensor([[2.0]], requires_grad=True)
    (one * 3).backward()
    assert gradient(one) == [3]


def test_a_pass_from_a_tensor_that_requires_no_gradient() -> None:
    with pytest.raises(NoGradRequired):
        Tensor([1.0]).backward()


def test_an_incoming_gradient_of_the_wrong_shape() -> None:
    with pytest.raises(ShapeMismatch, match=r"\[3\].*\[2\]"):
        (leaf(1, 2) * 2).backward(np.ones(3))


def test_a_freed_graph_refuses_a_second_pass_and_a_kept_one_does_not() -> None:
    x = leaf(1.0)
    y = x * 2
    y.backward(retain_graph=True)
    y.backward()
    assert gradient(x) == [4]
    with pytest.raises(BackwardTwice, match="retain_graph"):
        y.backward()


def test_a_second_root_over_a_freed_part_raises() -> None:
    x = leaf(1.0)
    shared = x * 2
    first, second = shared * 3, shared * 4
    first.backward()
    with pytest.raises(BackwardTwice):
        second.backward()


def test_intermediates_keep_their_gradient_only_when_asked() -> None:
    x = leaf(1.0)
    kept, dropped = x * 2, x * 3
    kept.retain_grad()
    (kept + dropped).backward()
    assert gradient(kept) == [1]
    assert dropped.grad is None


def test_gradients_of_two_leaves_are_not_the_same_array() -> None:
    a, b = leaf(1, 2), leaf(3, 4)
    seed = np.ones(2)
    (a + b).backward(seed)
    assert a.grad is not None
    a.grad.data[0] = 7
    assert gradient(b) == [1, 1]
    assert seed[0] == 1


def test_grad_leaves_every_grad_as_it_was() -> None:
    x, y = leaf(3.0), leaf(5.0)
    unrelated = leaf(1.0)
    dx, none = grad(x * x * y, [x, unrelated])
    assert dx is not None
    assert dx.data == 30
    assert none is None
    assert x.grad is None


def test_gradients_can_be_differentiated_again() -> None:
    x = leaf(2.0)
    (first,) = grad(x * x * x, x, create_graph=True)
    assert first is not None
    (second,) = grad(first, x, create_graph=True)
    assert second is not None
    (third,) = grad(second, x)
    assert third is not None
    assert (first.data, second.data, third.data) == (12, 12, 6)


def test_a_root_that_is_also_inside_the_graph_of_another() -> None:
    from gradcheck.autograd.backward import backward

    x = leaf(1.0)
    y = x * 2
    z = y * 3
    backward([y, z], [np.array([1.0]), np.array([10.0])])
    assert gradient(x) == [2 * 1 + 6 * 10]


def test_broadcasting_is_undone() -> None:
    row, column = Tensor(np.ones((1, 3)), requires_grad=True), Tensor(np.ones((2, 1)), requires_grad=True)
    (row * column).backward(np.arange(6.0).reshape(2, 3))
    assert row.grad is not None
    assert row.grad.shape == (1, 3)
    assert gradient(row) == [3, 5, 7]
    assert gradient(column) == [3, 12]


def test_no_grad_records_nothing() -> None:
    x = leaf(1.0)
    with no_grad():
        y = x * 2
    assert not y.requires_grad
    assert y.creators == ()
    assert (x * 2).requires_grad


@pytest.mark.parametrize("uses", [1_000, 100_000])
def test_one_leaf_used_very_often(uses: int) -> None:
    x = leaf(1.0)
    total = x * 1.0
    for _ in range(uses - 1):
        total = total + x
    total.backward()
    assert gradient(x) == [uses]


def test_a_chain_deeper_than_any_recursion_limit_runs_and_dies_quietly() -> None:
    x = leaf(1.0)
    h = x * 1.0
    for _ in range(200_000):
        h = h + 1.0
    h.backward()
    assert gradient(x) == [1]
    del h


def test_doubling_two_hundred_times_is_linear_in_nodes_not_in_paths() -> None:
    x = leaf(1.0)
    h = x
    for _ in range(200):
        h = h + h
    h.backward()
    assert gradient(x) == [2.0**200]


def test_complex_gradients_follow_torchs_convention() -> None:
    torch = pytest.importorskip("torch")
    value, other, seed = np.array([1 + 2j, -3j]), np.array([2 - 1j, 0.5 + 1j]), np.array([1 - 1j, 2j])
    x, y = Tensor(value, requires_grad=True), Tensor(other.real, requires_grad=True)
    (x * x * y * other).backward(seed)
    tx, ty = torch.tensor(value, requires_grad=True), torch.tensor(other.real.copy(), requires_grad=True)
    (tx * tx * ty * torch.tensor(other)).backward(torch.tensor(seed))
    assert x.grad is not None
    assert y.grad is not None
    np.testing.assert_allclose(x.grad.data, tx.grad.numpy(), rtol=1e-14)
    np.testing.assert_allclose(y.grad.data, ty.grad.numpy(), rtol=1e-14)
    assert y.grad.dtype == np.float64


def test_the_gradient_of_a_0_d_leaf_is_an_array() -> None:
    x = Tensor(2.0, requires_grad=True)
    (x * x).backward()
    assert x.grad is not None
    assert type(x.grad.data) is np.ndarray


def test_a_complex_gradient_of_a_real_tensor_is_refused() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with pytest.raises(DtypeMismatch, match="is complex, and its tensor is real"):
        y.backward(np.array([1j, 2.0]))
    assert x.grad is None
