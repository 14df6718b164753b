"""Which precisions torch computes in."""

from __future__ import annotations

import pytest
import torch

from gradcheck.engines.implementation.precision_probe import PrecisionProbe


@pytest.mark.parametrize(
    ("narrow", "least"),
    [(torch.float32, torch.float32), (torch.float64, None), (torch.complex64, torch.float32)],
)
def test_the_least_precise_one_is_told(narrow: torch.dtype, least: torch.dtype | None) -> None:
    with PrecisionProbe(torch.float64) as seen:
        torch.full((2,), 1 / 3, dtype=torch.float64).to(narrow) * 2
    assert seen.least_precise is least


def test_numbers_of_few_digits_are_as_exact_in_any() -> None:
    with PrecisionProbe(torch.float64) as seen:
        (torch.arange(3.0, dtype=torch.float64) > 1).half() * 0.5
    assert seen.least_precise is None


def test_of_two_the_less_precise_one_is_told() -> None:
    third = torch.full((2,), 1 / 3, dtype=torch.float64)
    with PrecisionProbe(torch.float64) as seen:
        third.half()
        third.float()
    assert seen.least_precise is torch.float16
