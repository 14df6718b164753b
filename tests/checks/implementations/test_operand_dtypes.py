"""Arrays of several dtypes: each keeps its own where the code is called."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.testing import check_function

SPEC = "x @ w"


class Linear(torch.autograd.Function):
    """Activations in bfloat16, weights in float32."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        assert (x.dtype, w.dtype) == (torch.bfloat16, torch.float32)
        ctx.save_for_backward(x, w)
        return x @ w.to(x.dtype)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g @ w.T.to(g.dtype), (x.T @ g).to(w.dtype)


class ForgetsToCast(Linear):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g @ w.T, x.T @ g


class Twice(Linear):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        dx, dw = Linear.backward(ctx, g)
        return dx, 2 * dw


def _operands(*dtypes: torch.dtype) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"x": (4, 3), "w": (3, 2)}
    drawn = zip(shapes.items(), dtypes, strict=True)
    return {name: torch.randn(s, generator=generator).to(dtype).requires_grad_() for (name, s), dtype in drawn}


@pytest.mark.parametrize("spec", [None, SPEC])
def test_operands_keep_their_dtypes(spec: str | None) -> None:
    operands = _operands(torch.bfloat16, torch.float32)
    check_function(Linear.apply, inputs=operands, spec=spec)
    with pytest.raises(AssertionError, match="constant factor 2"):
        check_function(Twice.apply, inputs=operands, spec=spec)
    with pytest.raises(AssertionError, match="same dtype"):
        check_function(ForgetsToCast.apply, inputs=operands, spec=spec)


def test_the_python_shown_has_both_dtypes() -> None:
    with pytest.raises(AssertionError) as raised:
        check_function(Twice.apply, inputs=_operands(torch.bfloat16, torch.float32), spec=SPEC)
    assert "dtype=torch.bfloat16" in str(raised.value)
    assert "dtype=torch.float32" in str(raised.value)


def test_dtypes_that_are_chosen_hold_for_all() -> None:
    seen = set()

    def matmul(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        seen.add((x.dtype, w.dtype))
        return x @ w

    check_function(matmul, inputs=_operands(torch.bfloat16, torch.float32), choices={"dtypes": ["float64"]})
    assert seen == {(torch.float64, torch.float64)}


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        assert (z.dtype, s.dtype) == (torch.complex128, torch.float64)
        ctx.save_for_backward(z, s)
        return z * s

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        z, s = ctx.saved_tensors
        return g * s, (g * z.conj()).real


class ForgetsToConjugate(Scale):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        z, s = ctx.saved_tensors
        return g * s, (g * z).real


@pytest.mark.parametrize("spec", [None, "z * s"])
def test_real_operands_beside_complex_ones_stay_real(spec: str | None) -> None:
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    s = torch.tensor([0.7, -1.3], dtype=torch.float64, requires_grad=True)
    check_function(Scale.apply, z=z, s=s, spec=spec)
    with pytest.raises(AssertionError, match="gradient of s"):
        check_function(ForgetsToConjugate.apply, z=z, s=s, spec=spec)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g @ w.T, x.T @ g


class Upcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.float()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.to(torch.bfloat16)


def test_second_order_is_not_claimed_of_code_that_casts_to_half_precision() -> None:
    check_function(Upcast.apply, x=torch.randn(4).bfloat16().requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_second_order_in_half_precision_is_held_to_its_rounding(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(6):
        x, w = (torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in ((4, 3), (3, 2)))
        check_function(Product.apply, x=x, w=w)
