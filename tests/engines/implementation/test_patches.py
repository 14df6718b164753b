"""Functions that somebody's code replaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.engines.implementation.patches import Patches
from tests.engines.implementation.build import TANH, with_code


def test_what_is_replaced_or_gone_is_put_back() -> None:
    known = np.sinc, torch.Tensor.norm, torch.Tensor.sinc
    patches = Patches()
    assert patches.undo() == ()
    np.sinc = lambda x: x  # type: ignore[assignment,misc]
    del torch.Tensor.norm
    torch.Tensor.sinc = torch.Tensor.cos  # type: ignore[method-assign]
    assert set(patches.undo()) == {"numpy.sinc", "torch.Tensor.norm", "torch.Tensor.sinc"}
    assert (np.sinc, torch.Tensor.norm, torch.Tensor.sinc) == known


def test_the_entry_is_computed_by_torchs_own() -> None:
    def replaces(x: torch.Tensor) -> torch.Tensor:
        torch.erfinv = torch.sinh  # type: ignore[assignment]
        return torch.sinh(x)

    known: Any = torch.erfinv
    case = with_code(TANH.replace("tanh(x)", "erfinv(0.1 * tanh(x))"), replaces)
    (found,) = run(case, allow_code=True).cases
    assert found.status == "failed"
    assert torch.erfinv is known
