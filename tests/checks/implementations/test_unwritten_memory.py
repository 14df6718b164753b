"""Code whose grid or mask is too small."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.testing import check_function


def _cube(written: slice, stale: bool = False) -> Any:
    """Code that writes a part of its gradient; the rest may be the numbers of an earlier call, which are right."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            right = 3 * x * x * g
            found = torch.empty_like(x)
            if stale and not found.isnan().any():
                found.copy_(right)
            found[written] = right[written]
            return found

    return Cube.apply


@pytest.mark.parametrize("spec", [None, "x ** 3"])
def test_elements_that_are_not_written_are_named(spec: str | None) -> None:
    x = torch.linspace(0.5, 2.0, 6, dtype=torch.float64)
    check_function(_cube(slice(None)), x=x, spec=spec)
    for stale in (False, True):
        with pytest.raises(AssertionError, match="never writes some elements of x"):
            check_function(_cube(slice(4), stale), x=x, spec=spec)
