"""Second order of code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.implementations.second_order import differs
from gradcheck.checks.scheduling.run import run
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code

SUMMED = TANH.replace("tanh(x)", "2 * x.sum(0)")


def test_a_second_order_that_is_lost_is_a_failure() -> None:
    (found,) = run(with_code(TANH, functions.SecondOrderLost.apply), allow_code=True).cases
    wrong = [c for c in found.comparisons if c.status == "failed"]
    assert {c.what for c in wrong} == {ClaimKind.GRADIENT2}


def test_one_that_is_not_offered_is_none() -> None:
    (found,) = run(with_code(TANH, functions.OnlyOnce.apply), allow_code=True).cases
    assert found.status == "passed"
    assert not any(c.what is ClaimKind.GRADIENT2 for c in found.comparisons)


def test_what_comes_in_is_differentiated_too() -> None:
    (found,) = run(with_code(TANH, functions.Tanh.apply), allow_code=True).cases
    second = {c.tensor for c in found.comparisons if c.what is ClaimKind.GRADIENT2}
    assert second == {"x", "incoming_gradient"}


def test_a_detached_backward_is_named() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * g * x.detach() ** 2

    case = 'dims: {n: 4}\ninputs: {x: "randn(n)"}\ngraph: {y: x ** 3}'
    (found,) = run(with_code(case, Cube.apply), allow_code=True).cases
    (reason,) = [d for c in found.comparisons for d in c.diagnoses]
    assert (reason.kind, reason.message["gradient"], reason.message["tensor"]) == ("detached", "x", "x")


class _Inside(torch.autograd.Function):
    """A backward pass of its own inside, as of checkpoints: it records nothing."""

    factor = 1

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @classmethod
    def backward(cls, ctx: Any, g: torch.Tensor) -> torch.Tensor:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            (x**3).backward(gradient=cls.factor * g)
        assert x.grad is not None
        return x.grad


class _InsideTwice(_Inside):
    factor = 2


@pytest.mark.parametrize("spec", [None, "x ** 3"])
def test_no_second_order_is_claimed_of_a_backward_that_records_nothing(spec: str | None) -> None:
    found = check_function(_Inside.apply, x=(4,), spec=spec)
    assert any(c.has_note("gradients_unrecorded") for one in found.cases for c in one.comparisons)
    with pytest.raises(AssertionError, match="off by the constant factor 2"):
        check_function(_InsideTwice.apply, x=(4,), spec=spec)


@pytest.mark.parametrize("function", [torch.nn.functional.elu, lambda x: x * x.abs() + torch.relu(x) ** 2])
def test_at_a_kink_of_first_gradients_any_side_is_right(function: Any) -> None:
    check_function(function, x=torch.tensor([-2.0, 0.0, 1.0], dtype=torch.float64))


class _SavedApart(torch.autograd.Function):
    """The gradient of `w` depends on `v`, of which it keeps a copy."""

    @staticmethod
    def forward(ctx: Any, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(v.detach(), w.detach())
        return v * w

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        v, w = ctx.saved_tensors
        return (g * w).detach(), g * v


class _FreesOne(torch.autograd.Function):
    """Of `w` the gradient cannot be differentiated; that of `x` keeps a copy."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x.clone(), w)
        return x**3 + torch.sin(w) * w

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        x, w = ctx.saved_tensors
        if not ctx.needs_input_grad[1]:
            return 3 * x * x * g, None
        with torch.enable_grad():
            inner = torch.sin(w) * w
            (dw,) = torch.autograd.grad(inner, w, g, create_graph=True, retain_graph=True)
            torch.autograd.grad(inner, w, g)  # frees what `dw` keeps
        return 3 * x * x * g, dw


@pytest.mark.parametrize(("function", "tensor"), [(_SavedApart, "v"), (_FreesOne, "x")])
def test_gradients_that_are_recorded_are_right_whatever_the_others_are(function: Any, tensor: str) -> None:
    names = ("v", "w") if function is _SavedApart else ("x", "w")
    with pytest.raises(AssertionError, match=f"second-order gradient of {tensor}:"):
        check_function(function.apply, **dict.fromkeys(names, (4,)))
    found = check_function(function.apply, **dict.fromkeys(names, (4,)), choices={"order": 1})
    assert found.exit_code == 0


class _Quantized(torch.autograd.Function):
    """Rounds to a step size that is learned; its gradient is a convention."""

    @staticmethod
    def forward(ctx: Any, w: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(w, step)
        return (w / step).round() * step

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        w, step = ctx.saved_tensors
        return g, (g * ((w / step).round() - w / step)).sum().reshape(1)


def test_a_specification_with_detach_claims_first_order_alone() -> None:
    spec = "(w / step + detach(round(w / step) - w / step)) * step"
    check_function(_Quantized.apply, w=(4, 3), step="uniform(0.2, 0.6, [1])", spec=spec)
    with pytest.raises(AssertionError, match="gradient of step"):
        check_function(lambda w, step: _Quantized.apply(w, step.detach()), w=(4, 3), step=(1,), spec=spec)


def test_no_kept_intermediate_is_blamed_for_the_incoming_gradient() -> None:
    class Summed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, g: Any, y: Any) -> Any:
            ctx.save_for_backward(g, y)
            return g * y

        @staticmethod
        def backward(ctx: Any, z: Any) -> Any:
            g, y = ctx.saved_tensors
            return torch.sum(z * y).expand_as(g), z * g

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = torch.exp(x)
            kept = y * 1
            ctx.save_for_backward(kept)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (kept,) = ctx.saved_tensors
            return Summed.apply(g, kept)

    with pytest.raises(AssertionError, match="gradient of incoming_gradient") as failed:
        check_function(Exp.apply, x=torch.randn(4, dtype=torch.float64, requires_grad=True))
    report, by_input = str(failed.value).split("second-order gradient of "), "an intermediate was saved"
    assert all(by_input not in part for part in report if part.startswith("incoming_gradient"))


def test_right_rules_are_noted() -> None:
    (found,) = run(with_code(SUMMED, functions.Doubled.apply), allow_code=True).cases
    assert found.status == "passed"
    assert any(c.has_note("rules_right") for c in found.comparisons)


def test_wrong_ones_fail_each_with_its_name() -> None:
    (found,) = run(with_code(SUMMED, functions.WrongRules.apply), allow_code=True).cases
    told = {(c.mismatch.kind, dict(c.mismatch.data).get("manner", "")) for c in found.comparisons if c.mismatch}
    assert {("jvp_wrong", ""), ("otherwise", "vmap_last")} <= told
    (jvp,) = (c.mismatch for c in found.comparisons if c.mismatch and c.mismatch.kind == "jvp_wrong")
    assert jvp["factor"] == -1


@pytest.mark.parametrize("spec", ["2 * x.sum(0)", None])
def test_code_alone_is_held_to_its_gradients(spec: Any) -> None:
    check_function(functions.Doubled.apply, x=(3, 2), spec=spec)
    with pytest.raises(AssertionError, match="it has the wrong sign"):
        check_function(functions.WrongRules.apply, x=(3, 2), spec=spec)


def test_a_part_of_the_largest_element_is_no_difference() -> None:
    """Of a stated tolerance second order is allowed the root: it is a derivative of what is so exact."""
    got, want = np.array([1.0, 1e-5]), np.array([1.0, 0.0])
    assert differs(got, want, want.dtype)
    assert not differs(got, want, want.dtype, part=1e-4)
    assert differs(got, want, want.dtype, part=1e-6)
    assert differs(np.array([1.0, np.nan]), want, want.dtype, part=1.0)
