"""Gradients of operands in their own dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.binding import Binding
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.engines.implementation.operand_dtypes import forward_rounds, operand_gradients
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Name
from gradcheck.language.sampling import draw
from gradcheck.testing import check_function
from tests.from_text import case_of


def _engine(function: Any) -> CodeEngine:
    arguments = tuple(Claim(name, Name(name)) for name in ("x", "s"))
    own = {"x": "bfloat16", "s": "float32"}
    return CodeEngine("f", "y", code_of(function, None, "f"), Binding(arguments, operand_dtypes=own))


def test_gradients_and_roundings_of_mixed_operands() -> None:
    case = case_of("dtype: bfloat16\ninputs: {x: randn(5), s: randn(5)}\ngraph: {y: x * s}\nbackward: {y: randn(5)}")
    problem = draw(case, 0)

    def precise(x: Any, s: Any) -> Any:
        assert (x.dtype, s.dtype, torch.zeros(1).dtype) == (torch.bfloat16, torch.float32, torch.float32)
        return (x.float() * s / 3).to(x.dtype).view(5)

    def rough(x: Any, s: Any) -> Any:
        return x * s.to(x.dtype)

    found = operand_gradients(_engine(precise), problem)
    assert list(found) == ["s"]
    assert found["s"].dtype == np.float32
    assert not forward_rounds(_engine(precise), problem)
    assert forward_rounds(_engine(rough), problem)


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
