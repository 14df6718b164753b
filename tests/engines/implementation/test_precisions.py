"""Which precisions torch computes in."""

from __future__ import annotations

import pytest
import torch

from gradcheck.engines.implementation.precisions import Precisions


@pytest.mark.parametrize(("narrow", "less"), [(torch.float32, True), (torch.float64, False), (torch.complex64, True)])
def test_whether_something_is_less_precise(narrow: torch.dtype, less: bool) -> None:
    with Precisions(torch.float64) as seen:
        torch.ones(2, dtype=narrow) * 2
    assert seen.is_less is less
