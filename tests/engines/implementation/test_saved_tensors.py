"""Tensors that code keeps for its backward, and gradients without a record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.language.claim_kind import ClaimKind
from gradcheck.testing import check_function
from tests.engines.implementation import functions


class _NumpySine(torch.autograd.Function):
    """torch records nothing of its forward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.from_numpy(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].cos()


class _NoGradSine(_NumpySine):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        with torch.no_grad():
            return x.sin()


class _NumpyBackward(_NumpySine):
    """Nor of its backward."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.from_numpy(g.detach().numpy() * np.cos(ctx.saved_tensors[0].detach().numpy()))


class _NumpyProduct(torch.autograd.Function):
    """torch records nothing of its forward, which takes two tensors."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return torch.from_numpy(x.detach().numpy() * w.detach().numpy())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w, g * x


class _RootOfSquare(_NumpySine):
    """Its second order is NaN at 0, where the derivative is finite."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.from_numpy(x.detach().numpy() ** 3)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * g * ((x * x) ** 2).sqrt()


class _DetachedSine(_NumpySine):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].detach().cos()


class _KeptSigmoid(torch.autograd.Function):
    """The sigmoid is computed in forward, and kept."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, s = ctx.saved_tensors
        return g * (s + x * s * (1 - s))


class _KeptHalves(torch.autograd.Function):
    """Views that are made in forward are kept in place of the argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        a, b = x.chunk(2)
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return torch.cat([g * b, g * a])


class _KeptForNothing(_NumpySine):
    """What it keeps plays no part in its second order, which another mistake loses."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, 2 * x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * g * ctx.saved_tensors[0].detach() ** 2


class _KeptBesideHalf(_KeptForNothing):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0]
        return 3 * g * x * x.detach()


def _text(function: Any, spec: str | None = None) -> str:
    with pytest.raises(AssertionError) as raised:
        check_function(function, x=(4,), spec=spec)
    return " ".join(str(raised.value).split())


def _notes(function: Any) -> set[str]:
    (found,) = check_function(function, x=(4,)).cases
    return {note.kind for c in found.comparisons for note in c.notes}


@torch.library.custom_op("gradcheck_tests::sine", mutates_args=(), schema="(Tensor x) -> Tensor")
def _custom_sine(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.detach().numpy()))


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


_custom_sine.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=_keep)


@pytest.mark.parametrize("function", [_NumpySine.apply, _NoGradSine.apply, _custom_sine])
def test_a_forward_that_records_nothing_has_a_second_order(function: Any) -> None:
    (found,) = check_function(function, x=(4,)).cases
    assert any(c.what is ClaimKind.GRADIENT2 for c in found.comparisons)


def test_each_input_of_such_code_may_get_a_gradient_alone() -> None:
    check_function(_NumpyProduct.apply, x=(4,), w=(4,))
    check_function(_NumpyProduct.apply, x=np.ones(4), w=np.arange(4.0))


def test_a_second_order_of_nan_fails_where_the_derivative_is_finite() -> None:
    check_function(_RootOfSquare.apply, x=np.array([1.0, -2.0]))
    with pytest.raises(AssertionError, match="second-order gradient of x"):
        check_function(_RootOfSquare.apply, x=np.array([1.0, 0.0, -2.0]))


def test_a_wrong_second_order_of_such_code_fails() -> None:
    text = _text(_DetachedSine.apply)
    assert "second-order gradient of x: _DetachedSine.apply differs from differences" in text
    assert "cause: detached" in text


def test_nothing_is_claimed_of_a_gradient_that_records_nothing() -> None:
    assert "gradients_unrecorded" in _notes(_NumpyBackward.apply)
    assert "gradients_unrecorded" not in _notes(_NumpySine.apply)


@pytest.mark.parametrize("spec", [None, "silu(x)"])
def test_a_kept_intermediate_is_named(spec: str | None) -> None:
    text = _text(_KeptSigmoid.apply, spec=spec)
    assert "cause: an intermediate was saved instead of an input: forward keeps saved_tensors[1]" in text
    check_function(_KeptSigmoid.apply, x=(4,), spec=spec, choices={"order": 1})
    assert "forward keeps saved_tensors[0], saved_tensors[1]" in _text(_KeptHalves.apply)
    assert "intermediate" not in _text(functions.SecondOrderLost.apply, spec=spec and "tanh(x)")


def test_a_kept_intermediate_that_does_not_explain_it_is_no_fact() -> None:
    text = _text(_KeptForNothing.apply)
    assert "cause: detached" in text
    assert "intermediate" not in text
    assert "cause: perhaps: an intermediate was saved" in _text(_KeptBesideHalf.apply)
