"""Second derivatives: rules on tensors build a graph of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck import Tensor, ops
from gradcheck.autograd.backward import grad
from gradcheck.errors import BackwardTwice

Function = Callable[..., Any]


class Side:
    """A side: its functions, leaves and differentiation."""

    def __init__(self, functions: Any, leaf: Callable[[np.ndarray], Any], grad: Callable[..., Any]) -> None:
        self.f, self.leaf, self.grad = functions, leaf, grad


class TorchFunctions:
    """torch's functions by gradcheck's names for them."""

    def __getattr__(self, name: str) -> Any:
        if name == "inv":
            return torch.linalg.inv
        return getattr(torch, name, None) or getattr(torch.nn.functional, name)


OURS = Side(ops, lambda array: Tensor(array, requires_grad=True), grad)
THEIRS = Side(TorchFunctions(), lambda array: torch.tensor(array, requires_grad=True), torch.autograd.grad)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


def mlp(f: Any, x: Any, first: Any, second: Any) -> Any:
    """A two-layer perceptron's cross entropy."""
    return f.cross_entropy(f.tanh(x @ first) @ second, f.tensor([0, 2, 1, 2]))


def attention(f: Any, x: Any, first: Any, second: Any) -> Any:
    """Self-attention from the parts that torch differentiates twice, too."""
    keys = x @ first
    return (f.softmax(keys @ keys.T * 0.5, 1) @ keys * f.sin(keys @ second @ first)).sum()


def normalized(f: Any, x: Any, first: Any, second: Any) -> Any:
    """Layer norm between two layers, and a smooth loss."""
    hidden = f.gelu(f.layer_norm(x @ first, [4]))
    return f.mse_loss(hidden @ second, x @ first @ second)


def shared(f: Any, x: Any, first: Any, second: Any) -> Any:
    """One leaf in many places, rearranged, broadcast and reduced."""
    mixed = f.exp(-(x * x)).sum(1, keepdim=True) * x
    return (mixed.T @ (x[:, :2] @ first[:2] @ second).sigmoid() * f.logsumexp(x, 0).unsqueeze(1)).sum()


def inverse(f: Any, x: Any, first: Any, second: Any) -> Any:
    """An inverse and a product of its entries."""
    square = first @ first.T + 3 * f.eye(3, dtype=first.dtype)
    return (f.inv(square) @ x.T @ x).prod(1).sum() + second.pow(3).mean()


FUNCTIONS = [mlp, attention, normalized, shared, inverse]
LEAVES = (normal(4, 3), normal(3, 4, seed=1), normal(4, 3, seed=2))


def both(compute: Callable[[Side, list[Any]], Any]) -> None:
    """Assert that both sides agree."""
    ours = compute(OURS, [OURS.leaf(a) for a in LEAVES])
    theirs = compute(THEIRS, [THEIRS.leaf(a) for a in LEAVES])
    assert len(ours) == len(theirs) > 0
    for mine, torchs in zip(ours, theirs, strict=True):
        want = torchs.detach().numpy()
        np.testing.assert_allclose(mine.data, want, rtol=1e-9, atol=1e-12 * np.abs(want).max())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_hessian_vector_products(function: Function) -> None:
    def compute(side: Side, leaves: list[Any]) -> Any:
        loss = function(side.f, *leaves)
        first = side.grad(loss, leaves, create_graph=True)
        vectors = [side.leaf(normal(*array.shape, seed=7)) for array in LEAVES]
        product = sum((g * v).sum() for g, v in zip(first, vectors, strict=True))
        return [loss, *first, *side.grad(product, leaves)]

    both(compute)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradient_penalties(function: Function) -> None:
    """A loss and its gradient's distance from norm 1, differentiated together."""

    def compute(side: Side, leaves: list[Any]) -> Any:
        loss = function(side.f, *leaves)
        (slope,) = side.grad(loss, leaves[:1], create_graph=True)
        penalty = ((slope * slope).sum(1).sqrt() - 1).pow(2).mean()
        return side.grad(loss + 10 * penalty, leaves)

    both(compute)


@pytest.mark.parametrize("function", [mlp, attention, shared])
def test_third_derivatives(function: Function) -> None:
    def compute(side: Side, leaves: list[Any]) -> Any:
        value = function(side.f, *leaves)
        for seed in range(2):
            gradients = side.grad(value, leaves, create_graph=True)
            value = sum((g * side.leaf(normal(*g.shape, seed=seed))).sum() for g in gradients)
        return side.grad(value, leaves)

    both(compute)


def test_the_third_derivative_of_layer_norm_is_that_of_its_definition() -> None:
    """torch's kernel is wrong from the third derivative on.

    Both sides are compared with the definition.
    """

    def third(side: Side, norm: Function) -> Any:
        leaves = [side.leaf(a) for a in LEAVES[:2]]
        value = (norm(leaves[0] @ leaves[1]) ** 3).sum()
        for seed in range(2):
            gradients = side.grad(value, leaves, create_graph=True)
            value = sum((g * side.leaf(normal(*g.shape, seed=seed))).sum() for g in gradients)
        return side.grad(value, leaves)

    def definition(x: Any) -> Any:
        centered = x - x.mean(1, keepdim=True)
        return centered / ((centered * centered).mean(1, keepdim=True) + 1e-5).sqrt()

    for got, want in zip(third(OURS, lambda x: ops.layer_norm(x, [4])), third(THEIRS, definition), strict=True):
        np.testing.assert_allclose(got.data, want.numpy(), rtol=1e-9)


def test_the_whole_hessian_row_by_row() -> None:
    """Of a quadratic form it is the matrix plus its transpose, at every point."""
    matrix, x = normal(4, 4), Tensor(normal(4), requires_grad=True)
    (slope,) = grad(x @ Tensor(matrix) @ x, x, create_graph=True)
    assert slope is not None
    rows = [grad(slope, x, np.eye(4)[i], retain_graph=True)[0] for i in range(4)]
    np.testing.assert_allclose([row.data for row in rows if row is not None], matrix + matrix.T, rtol=1e-14)


def test_backward_with_create_graph_leaves_gradients_that_can_be_differentiated() -> None:
    x = Tensor([2.0, 3.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not None
    assert x.grad.requires_grad
    slope, x.grad = x.grad, None
    slope.sum().backward()
    np.testing.assert_allclose(x.grad.data, [12, 18])  # type: ignore[attr-defined]


def test_without_create_graph_a_gradient_is_a_constant() -> None:
    x = Tensor([2.0, 3.0], requires_grad=True)
    y = (x**3).sum()
    y.backward()
    assert x.grad is not None
    assert not x.grad.requires_grad
    with pytest.raises(BackwardTwice):
        y.backward()
