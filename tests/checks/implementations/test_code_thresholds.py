"""Numbers and sizes about the constants that code is written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.implementations.code_thresholds import size_groups
from gradcheck.checks.scheduling.run import run
from gradcheck.language.sampling import draw
from gradcheck.testing import check_function
from tests.engines.implementation.build import with_code
from tests.from_text import case_of

SQUARE = 'dims: {n: 3}\ninputs: {x: "randn(n)"}\ngraph: {y: x * x}'
SUM = 'dims: {n: 3, d: 2}\ninputs: {x: "randn(n, d)"}\ngraph: {y: x.sum(dim=0)}'
RNG = np.random.default_rng(0)


def status(case: str, forward: Any, backward: Any) -> str:
    (found,) = run(with_code(case, (forward, backward)), allow_code=True).cases
    return found.status


def test_a_threshold_is_visited_on_both_sides() -> None:
    def beyond(g: Any, x: Any) -> Any:
        return np.where(np.abs(x) > 300.0, 0.0, 2 * g * x)

    assert status(SQUARE, lambda x: x * x, lambda g, x: 2 * g * x) == "passed"
    assert status(SQUARE, lambda x: x * x, beyond) == "failed"


def test_sizes_are_a_little_more_than_a_block() -> None:
    def in_blocks(g: Any, x: Any) -> Any:
        found = np.zeros(x.shape)
        for start in range(0, max(1, len(x) // 48 * 48), 48):
            found[start : start + 48] = g
        return found

    assert status(SUM, lambda x: x.sum(0), lambda g, x: 0 * x + g) == "passed"
    assert status(SUM, lambda x: x.sum(0), in_blocks) == "failed"


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


def test_code_that_gives_one_input_the_size_of_another_is_meant_for_equal_ones() -> None:
    class Pairs(torch.autograd.Function):
        """Of two tables with as many rows, as of one graph's nodes: the gradient of `x` has the rows of `y`."""

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x, y, index)
            return x[index] * y[index]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y, index = ctx.saved_tensors
            zeros = torch.zeros_like(y)
            return zeros.index_add(0, index, g * y[index]), zeros.index_add(0, index, g * x[index]), None

    x, y = RNG.standard_normal((2, 4, 3))
    index = torch.tensor([0, 2, 2, 1, 3])
    check_function(Pairs.apply, x=x, y=y, index=index, spec="x[index] * y[index]")
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(Pairs.apply, x=x, y=y[:3], index=index % 3, spec="x[index] * y[index]")


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


def test_no_other_size_is_tried_than_those_of_a_list() -> None:
    def shape_of_four(x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[1] ** 0.5  # raises nothing at another size

    check_function(shape_of_four, x=(3, 4), spec="2 * x", choices={"sizes": {4: [4]}})
