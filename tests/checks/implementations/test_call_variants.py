"""The manners in which code is asked again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases.engine_phrases import MANNERS
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code


class _Other(functions.Tanh):
    """Tanh's gradient, but for incoming gradients of one kind."""

    @classmethod
    def is_other(cls, x: torch.Tensor, g: torch.Tensor) -> bool:
        raise NotImplementedError

    @classmethod
    def of(cls, name: str, is_other: Any) -> Any:
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return (2 if is_other(y, g) else 1) * g * (1 - y * y)

        return type(name, (functions.Tanh,), {"backward": staticmethod(backward)})


IMAGES = TANH.replace("{n: 3, d: 2}", "{n: 3, d: 2, h: 4, w: 5}").replace("randn(n, d)", "randn(n, d, h, w)")


def _is_channels_last(tensor: torch.Tensor) -> bool:
    is_image = tensor.dim() == 4 and not tensor.is_contiguous()
    return is_image and tensor.is_contiguous(memory_format=torch.channels_last)


def _wrong(code: Any, case: str = TANH) -> set[str]:
    (found,) = run(with_code(case, code), allow_code=True).cases
    listed = [c.mismatch for c in found.comparisons if c.what is ClaimKind.CODE and c.status == "failed"]
    assert all(one is not None and one["manner"] in MANNERS for one in listed)
    return {one["manner"] for one in listed if one is not None}


@pytest.mark.parametrize(
    ("is_other", "manners"),
    [
        (lambda y, g: g.stride()[-1:] == (1,) and g.stride(0) not in (0, g.shape[1], 1), {"incoming_sliced"}),
        (lambda y, g: g.dim() == 2 and g.stride(0) == 0 and g.stride(1) != 0, {"incoming_rows"}),
        (lambda y, g: g.dim() == 2 and not g.is_contiguous() and g.mT.is_contiguous(), {"incoming_transposed"}),
        (
            lambda y, g: y.dim() == 2 and not y.is_contiguous() and y.mT.is_contiguous(),
            {"inputs_transposed", "inputs_strided"},
        ),
        (lambda y, g: g.storage_offset() > 0 and g.is_contiguous(), {"incoming_offset"}),
        (lambda y, g: not y.numel(), set()),
    ],
)
def test_layouts(is_other: Any, manners: set[str]) -> None:
    assert _wrong(_Other.of("Layout", is_other).apply) == manners


def test_channels_last() -> None:
    assert _wrong(_Other.of("Images", lambda y, g: _is_channels_last(g)).apply, IMAGES) == {"incoming_channels_last"}
    assert _wrong(_Other.of("Images", lambda y, g: _is_channels_last(y)).apply, IMAGES) == {"inputs_channels_last"}
    assert _wrong(_Other.of("Images", lambda y, g: False).apply, IMAGES) == set()


def test_tensors_without_dimensions() -> None:
    assert _wrong(_Other.of("Scalar", lambda y, g: not g.dim()).apply) == {"no_dimensions"}


def test_tensors_without_elements() -> None:
    summed = TANH.replace("tanh(x)", "x.sum(0)")

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.n = len(x)
            return x.sum(0)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.expand(max(ctx.n, 1), *g.shape)

    assert _wrong(Sum.apply, summed) == {"empty"}
    pair = (lambda x: x.sum(0), lambda g, x: np.stack([g for _ in x]))  # which refuses them
    (found,) = run(with_code(summed, pair), allow_code=True).cases
    assert found.status == "passed"
    assert any(n.kind == "refuses" and n["manner"] == "empty" for c in found.comparisons for n in c.notes)


def test_where_no_gradient_is_wanted_nothing_else_is_computed() -> None:
    assert _wrong(lambda x: x.tanh() if torch.is_grad_enabled() else x.sinh()) == {"no_grad", "no_gradients"}
    assert _wrong(lambda x: x.tanh() if x.requires_grad else x.sinh()) == {"no_gradients"}


def test_gradients_that_are_accumulated_by_the_code_itself() -> None:
    class Reenters(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.x = x
            return x.detach().tanh()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            with torch.enable_grad():
                ctx.x.tanh().backward(g, retain_graph=True)
            return torch.zeros_like(g)

    assert _wrong(Reenters.apply) == {"apart"}


def test_what_integers_come_to_is_told() -> None:
    def truncates(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x).to(x.dtype)

    for code, kind in ((truncates, "integers_otherwise"), (torch.tanh, "")):
        (found,) = run(with_code(TANH, code), allow_code=True).cases
        assert found.status == "passed"
        assert {n.kind for c in found.comparisons for n in c.notes if "integers" in n.kind} == ({kind} - {""})
