"""Code under autocast, its own or a chosen one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.testing import check_function

SPEC = "x @ w"
INPUTS = {"x": (4, 3), "w": (3, 2)}
CHOSEN = {"autocast": "bfloat16"}
FLOAT32 = {"dtypes": ["float32"]}


class Linear(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g.to(w.dtype) @ w.T, x.T @ g.to(x.dtype)


class WrongSign(Linear):
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g.to(w.dtype) @ w.T, -x.T @ g.to(x.dtype)


class WithoutCustomBackward(Linear):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g @ w.T, x.T @ g


def _under_autocast(function: Any) -> Any:
    def called(x: torch.Tensor, w: torch.Tensor) -> Any:
        assert x.dtype is torch.float32
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return function.apply(x, w)

    return called


def _notes(found: Any) -> set[str]:
    return {note.kind for case in found.cases for c in case.comparisons for note in c.notes}


@pytest.mark.parametrize("spec", [None, SPEC])
def test_own_autocast_is_held_to_its_precision(spec: str | None) -> None:
    found = check_function(_under_autocast(Linear), inputs=INPUTS, spec=spec, choices=FLOAT32)
    assert "judged_in_autocast" in _notes(found)
    with pytest.raises(AssertionError, match="the sign is wrong"):
        check_function(_under_autocast(WrongSign), inputs=INPUTS, spec=spec, choices=FLOAT32)


@pytest.mark.parametrize("spec", [None, SPEC])
def test_autocast_is_a_choice(spec: str | None) -> None:
    assert "judged_in_autocast" in _notes(check_function(Linear.apply, inputs=INPUTS, spec=spec, choices=CHOSEN))
    for wrong, said in ((WrongSign, "the sign is wrong"), (WithoutCustomBackward, "BFloat16 != float")):
        with pytest.raises(AssertionError, match=said):
            check_function(wrong.apply, inputs=INPUTS, spec=spec, choices=CHOSEN)


def test_the_python_shown_has_the_autocast() -> None:
    with pytest.raises(AssertionError) as raised:
        check_function(WrongSign.apply, inputs=INPUTS, choices=CHOSEN)
    assert 'with torch.autocast("cpu", dtype=torch.bfloat16):' in str(raised.value)


def test_without_autocast_nothing_is_noted() -> None:
    found = check_function(lambda x, w: x @ w, inputs=INPUTS, spec=SPEC, choices=FLOAT32)
    assert "judged_in_autocast" not in _notes(found)
