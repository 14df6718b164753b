"""Gradients of operands in their own dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gradcheck.engines.implementation.binding import Binding
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.engines.implementation.operand_gradients import forward_rounds, operand_gradients
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Name
from gradcheck.language.sampling import draw
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
