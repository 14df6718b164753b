"""Code that is right where the reference is not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.testing import check_function


class Hardsigmoid(torch.autograd.Function):
    """torch's own gradient of it holds a sixth in single precision."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.nn.functional.hardsigmoid(x)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * ((x > -3) & (x < 3)) / 6


class Wrong(Hardsigmoid):
    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * ((x > -3) & (x < 3)) / 5.99


def test_code_passes_where_torch_is_wrong() -> None:
    found = check_function(Hardsigmoid.apply, x=(3, 2), spec="F.hardsigmoid(x)")
    assert found.exit_code == 0
    with pytest.raises(AssertionError):
        check_function(Wrong.apply, x=(3, 2), spec="F.hardsigmoid(x)")
