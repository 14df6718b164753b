"""Gradients of operands that are more precise than others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function

SPEC = "x * exp(s)"


class Scale(torch.autograd.Function):
    """Activations in half precision, scales in float32, which is also the precision inside."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, s)
        return (x.float() * s.exp()).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, s = ctx.saved_tensors
        total = torch.zeros(s.shape)  # float32, as outside of a check
        total += (g.float() * x.float()).sum(0)
        return (g.float() * s.exp()).to(x.dtype), total * s.exp()


class RoundsResult(Scale):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        dx, ds = Scale.backward(ctx, g)
        return dx, ds.to(dx.dtype).to(ds.dtype)


class RoundsProducts(Scale):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, s = ctx.saved_tensors
        return Scale.backward(ctx, g)[0], (g * x).float().sum(0) * s.exp()


class LowInside(RoundsProducts):
    """A forward that is no more precise than its backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, s)
        return x * s.exp().to(x.dtype)


class InNumpy(Scale):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, s)
        return torch.from_numpy(x.float().numpy() * np.exp(s.numpy())).to(x.dtype)


class InNumpyRounds(InNumpy):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return RoundsResult.backward(ctx, g)


def _operands(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x, s = (torch.randn(shape, generator=generator) for shape in ((6, 4), (4,)))
    return {"x": x.to(dtype).requires_grad_(), "s": s.requires_grad_()}


@pytest.mark.parametrize("spec", [None, SPEC])
@pytest.mark.parametrize("kind", [Scale, LowInside, InNumpy])
def test_a_gradient_is_as_precise_as_the_forward_allows(kind: Any, spec: str | None) -> None:
    check_function(kind.apply, inputs=_operands(torch.bfloat16), spec=spec, choices={"order": 1})


@pytest.mark.parametrize(("kind", "spec"), [(RoundsResult, None), (RoundsProducts, None), (InNumpyRounds, SPEC)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_gradient_is_not_rounded_to_the_dtype_of_another_operand(kind: Any, spec: str | None, dtype: Any) -> None:
    with pytest.raises(AssertionError, match=r"the gradient of s is off by .*: s is float32"):
        check_function(kind.apply, inputs=_operands(dtype), spec=spec, choices={"order": 1})


def test_a_stated_tolerance_holds_for_it_too() -> None:
    choices = {"order": 1, "tolerance": 0.02}
    check_function(RoundsResult.apply, inputs=_operands(torch.bfloat16), spec=SPEC, choices=choices)


def test_an_apply_that_was_looked_up_before_is_compared_with_its_forward() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = RoundsResult.apply

        def forward(self, x: torch.Tensor, s: torch.Tensor) -> Any:
            return self.scale(x, s)

    with pytest.raises(AssertionError, match="the gradient of s is off by"):
        check_function(Layer(), inputs=_operands(torch.bfloat16))
