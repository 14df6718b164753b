"""Sizes, labels and ties that the arguments do not show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.implementations.varied_arguments import size_groups
from gradcheck.language.sampling import draw
from gradcheck.testing import check_function
from tests.from_text import case_of

RNG = np.random.default_rng(0)


def _pooling(area: Callable[[int, int], int]) -> Any:
    class Pool(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.sizes = x.shape
            return x.mean((-2, -1))

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (g / area(*ctx.sizes[-2:]))[..., None, None].expand(ctx.sizes)

    return Pool.apply


def _embedding(add: bool) -> Any:
    class Embedding(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, w: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            ctx.ids, ctx.shape = ids, w.shape
            return w[ids]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.new_zeros(ctx.shape).index_put_((ctx.ids,), g, accumulate=add), None

    return Embedding.apply


def _maximum(share: bool) -> Any:
    class Max(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            y = x.amax(0)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            is_largest = (x == y).to(g.dtype)
            return is_largest * g / (is_largest.sum(0) if share else 1)

    return Max.apply


def _tiled(is_masked: bool) -> Any:
    block = 16

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            found = torch.zeros_like(x)
            for start in range(0, x.shape[-1] if is_masked else block, block):
                found[..., start : start + block] = (2 * x * g)[..., start : start + block]
            return found

    return Square.apply


IDS = np.array([0, 4, 2])
ROWS = RNG.standard_normal((4, 3))
IMAGE = RNG.standard_normal((2, 3, 4, 4))


@pytest.mark.parametrize(
    ("right", "wrong", "inputs", "spec"),
    [
        (_pooling(lambda h, w: h * w), _pooling(lambda h, w: w * w), {"x": IMAGE}, "x.mean(dim=(-2, -1))"),
        (_pooling(lambda h, w: h * w), _pooling(lambda h, w: h * h), {"x": (2, 3, 4, 4)}, "x.mean(dim=(-2, -1))"),
        (_embedding(True), _embedding(False), {"w": (6, 3), "ids": IDS}, "w[ids]"),
        (_maximum(True), _maximum(False), {"x": (4, 3)}, "amax(x, dim=0)"),
        (_maximum(True), _maximum(False), {"x": ROWS}, "amax(x, dim=0)"),
        (_tiled(True), _tiled(False), {"x": (3, 5)}, "x * x"),
        (_tiled(True), _tiled(False), {"x": ROWS}, "x * x"),
        (_tiled(True), _tiled(False), {"x": (3, 5)}, None),
    ],
)
def test_wrong_code_is_found_where_its_arguments_hide_it(right: Any, wrong: Any, inputs: Any, spec: str | None) -> None:
    check_function(right, inputs=inputs, spec=spec)
    with pytest.raises(AssertionError, match="gradient of"):
        check_function(wrong, inputs=inputs, spec=spec)


def test_code_for_squares_alone_passes() -> None:
    def trace(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] != x.shape[1]:
            raise ValueError("x is a square matrix")
        return (x * torch.eye(len(x), dtype=x.dtype)).sum()

    check_function(trace, x=(3, 3), spec="diagonal(x).sum()")

    def other_value(x: torch.Tensor) -> torch.Tensor:
        return x.mT.diagonal().sum() + (x.shape[0] - x.shape[1]) * x.sum()

    check_function(other_value, x=(3, 3), spec="diagonal(x).sum()")


@pytest.mark.parametrize(
    ("shapes", "graph", "groups"),
    [
        ({"x": [4, 4], "b": [4]}, "x + b", [("x0",), ("x1", "b0")]),
        ({"x": [4, 4], "w": [4, 4]}, "x @ w", [("x0",), ("x1", "w0"), ("w1",)]),
        ({"a": [4, 4], "b": [4, 4], "c": [4, 4]}, "a * b * c", [("a0", "b0", "c0"), ("a1", "b1", "c1")]),
        ({"x": [4, 4]}, "trace(x + 9 * eye(4))", []),
    ],
)
def test_dims_that_have_one_size_together(
    shapes: dict[str, list[int]], graph: str, groups: list[tuple[str, ...]]
) -> None:
    inputs = "".join(f"\n  {name}: ones({shape})" for name, shape in shapes.items())
    case = case_of(f"inputs:{inputs}\ngraph: {{y: {graph}}}\nbackward: {{y: randn_like(y)}}\n")
    found = [tuple(f"{name}{dim}" for name, dim in group) for group in size_groups(draw(case))]
    assert found == groups
