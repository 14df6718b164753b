"""At which points code alone is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function


def _mean(x: Any) -> Any:
    return x.mean(0)


def _mean_of_several(g: Any, x: Any) -> Any:
    """Wrong for one row."""
    return np.broadcast_to(g / max(len(x) - 1, 1) * (len(x) - 1) / len(x), x.shape)


def _mean_of_rectangles(g: Any, x: Any) -> Any:
    """Wrong for as many rows as columns."""
    across = g[:, None] if x.shape[0] == x.shape[1] else g
    return np.broadcast_to(across / len(x), x.shape)


def _square(x: Any) -> Any:
    return x * np.abs(x)


def _square_cut_off(g: Any, x: Any) -> Any:
    """Wrong beside a constant in its code."""
    return 2 * g * np.where(np.abs(x) < 1e-5, 0, np.abs(x))


WRONG = pytest.mark.parametrize(
    ("forward", "wrong", "shape"),
    [(_mean, _mean_of_several, (3, 2)), (_mean, _mean_of_rectangles, (3, 2)), (_square, _square_cut_off, (8,))],
)


@WRONG
def test_shapes_are_drawn_in_other_sizes_and_numbers(forward: Any, wrong: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(forward, wrong, x=shape)


@WRONG
def test_an_array_is_a_point(forward: Any, wrong: Any, shape: tuple[int, ...]) -> None:
    (found,) = check_function(forward, wrong, x=np.linspace(1, 2, int(np.prod(shape))).reshape(shape)).cases
    assert {c.trial for c in found.comparisons} == {None}


def test_an_array_beside_a_shape_keeps_its_numbers_and_sizes() -> None:
    seen = set()
    weights = np.arange(6.0).reshape(2, 3) + 1

    def product(x: Any, w: Any) -> Any:
        seen.add((x.shape, w.shape, np.abs(w - weights).max() < 0.1 * np.abs(weights).max()))
        return x @ w

    check_function(product, lambda g, x, w: (g @ w.T, x.T @ g), x=(4, 2), w=weights)
    assert len({x for x, *_ in seen}) > 2
    assert {w for _, w, _ in seen} == {(2, 3)}


@pytest.mark.parametrize("spec", [None, "x * w"])
def test_a_size_that_an_array_has_is_not_drawn(spec: str | None) -> None:
    weights = np.arange(3.0) + 1
    check_function(np.multiply, lambda g, x, w: (g * w, (g * x).sum(0)), x=(4, 3), w=weights, spec=spec)


def test_a_matrix_that_must_be_a_rotation_is_one_point() -> None:
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])

    def angle(r: torch.Tensor) -> torch.Tensor:
        assert (r @ r.T - torch.eye(2, dtype=r.dtype)).abs().max() < 1e-3
        return torch.atan2(r[1, 0], r[0, 0])

    class Angle(torch.autograd.Function):
        factor = 1.0

        @staticmethod
        def forward(ctx: Any, r: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(r)
            return angle(r)

        @classmethod
        def gradient(cls, ctx: Any, g: torch.Tensor) -> torch.Tensor:
            (r,) = ctx.saved_tensors
            a, b = r[0, 0], r[1, 0]
            zero = torch.zeros_like(a)
            return cls.factor * g * torch.stack([-b, zero, a, zero]).reshape(2, 2) / (a * a + b * b)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return Angle.gradient(ctx, g)

    class Doubled(Angle):
        factor = 2.0

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return Doubled.gradient(ctx, g)

    check_function(angle, r=turn)
    check_function(Angle.apply, r=turn)
    with pytest.raises(AssertionError, match="gradient of r"):
        check_function(Doubled.apply, r=turn)


def test_what_is_undefined_beyond_the_given_signs_is_left_out() -> None:
    def entropy(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x * torch.log(torch.where(x > 0, x, 1)), 0)

    class Entropy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return entropy(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return g * (torch.log(x) + 1)

    check_function(Entropy.apply, x=np.array([0.5, 0.2, 1.5]))
    check_function(Entropy.apply, x="uniform(0.2, 1.5, [3])")
    with pytest.raises(AssertionError):
        check_function(Entropy.apply, x=np.array([0.5, -0.2, 1.5]))


class Normed(torch.autograd.Function):
    """A result and a statistic that is marked as not differentiable."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        scale = x.square().sum().rsqrt()
        ctx.save_for_backward(x, scale)
        ctx.factor = factor
        ctx.mark_non_differentiable(scale)
        return x * scale, scale

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        x, scale = ctx.saved_tensors
        return ctx.factor * scale * (g - x * scale**2 * (g * x).sum()), None


def test_results_that_require_no_gradient_are_constant() -> None:
    (found,) = check_function(Normed.apply, x=(3,), factor=1.0, choices={"order": 1}).cases
    notes = {note.kind: dict(note.data) for c in found.comparisons for note in c.notes}
    assert notes["results_constant"] == {"names": ("y[1]",)}
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(Normed.apply, x=(3,), factor=1.5, choices={"order": 1})
    spec = "(x * (x ** 2).sum() ** -0.5, (x ** 2).sum() ** -0.5)"
    with pytest.raises(AssertionError, match="gradient of x"):  # here the graph says otherwise
        check_function(lambda x: Normed.apply(x, 1.0), x=(3,), spec=spec, choices={"order": 1})
