"""What callers rely on beyond numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import AFFINE, TANH, with_code

SPEC = "x * exp(s)"


def behaviour(loaded: Any, case: str = TANH) -> list[tuple[str, str]]:
    """The kinds of what is wrong, and the manner in which it is."""
    (found,) = run(with_code(case, loaded), allow_code=True).cases
    wrong = [c.mismatch for c in found.comparisons if c.what is ClaimKind.CODE and c.status == "failed"]
    return [(w.kind, dict(w.data).get("manner", "")) for w in wrong if w is not None]


def test_sound_code_behaves() -> None:
    assert behaviour(functions.Tanh.apply) == []
    assert behaviour((functions.affine_forward, functions.affine_backward), AFFINE) == []


@pytest.mark.parametrize(
    ("loaded", "wrong"),
    [
        (functions.Remembers.apply, ("otherwise", "called_in_between")),
        (functions.NeedsContiguous.apply, ("refuses", "incoming_strided")),
        (functions.ChangesIncoming.apply, ("incoming_changed", "")),
    ],
)
def test_what_does_not(loaded: Any, wrong: tuple[str, str]) -> None:
    assert wrong in behaviour(loaded)


def test_a_cache_that_is_used_up() -> None:
    assert ("otherwise", "backward_again") in behaviour((functions.affine_forward, functions.uses_up), AFFINE)


def test_subsets_of_inputs() -> None:
    def only_both(dout: Any, cache: Any) -> Any:
        return functions.affine_backward(dout, cache)

    assert behaviour((functions.affine_forward, only_both), AFFINE) == []


def test_chance_is_told_from_rounding() -> None:
    (found,) = run(with_code(TANH, functions.noisy), allow_code=True).cases
    assert found.status == "failed"


def test_notes_are_told_where_all_is_well() -> None:
    (found,) = run(with_code(TANH, functions.OnlyOnce.apply), allow_code=True).cases
    (one,) = [c for c in found.comparisons if c.what is ClaimKind.CODE]
    assert {note.kind for note in one.notes} == {"arguments_bound", "once_differentiable"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_where_some_inputs_get_a_gradient_half_precision_is_held_to_its_own_answer(dtype: str) -> None:
    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x, w)
            return x.mm(w.t()) + b

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            x, w = ctx.saved_tensors
            return g.mm(w), g.t().mm(x), g.sum(0)

    choices = {"dtypes": [dtype]}
    spec = "F.linear(input, weight, bias)"
    check_function(Linear.apply, input=(4, 3), weight=(5, 3), bias=(5,), spec=spec, choices=choices)


class Unrecorded(torch.autograd.Function):
    """A product whose forward torch does not record."""

    factor = 1.0  # of the gradient of x, where w gets none

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        with torch.no_grad():
            return x * w

    @classmethod
    def backward(cls, ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w * (1.0 if ctx.needs_input_grad[1] else ctx._forward_cls.factor), g * x


def test_one_input_alone_is_held_to_the_code_where_torch_records_no_forward() -> None:
    check_function(Unrecorded.apply, x=(3,), w=(3,))
    wrong: Any = type("Wrong", (Unrecorded,), {"factor": 2.0})
    with pytest.raises(AssertionError, match="where x alone gets a gradient"):
        check_function(wrong.apply, x=(3,), w=(3,))


class _Changes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, state: torch.Tensor, both: bool) -> torch.Tensor:
        state.mul_(0.9).add_(0.1 * x.mean())
        if both:
            x.add_(1)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return 2 * g, None, None


def test_a_state_without_a_gradient_may_change_and_an_input_may_not() -> None:
    found = check_function(_Changes.apply, x=(4, 3), state=torch.zeros(3), both=False)
    assert any(c.has_note("argument_changed") for c in found.cases[0].comparisons)
    with pytest.raises(AssertionError, match="changes its argument x in place") as raised:
        check_function(_Changes.apply, x=(4, 3), state=torch.zeros(3), both=True)
    assert "argument state" not in str(raised.value)


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
