"""Which precisions torch computes in."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.engines.implementation.precision_modes import PrecisionProbe, StochasticRounding


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


X = torch.linspace(0.7, 7.0, 12, dtype=torch.float64)


def test_what_ops_come_to_moves_by_a_unit_at_most() -> None:
    plain = X.exp()
    with StochasticRounding(0):
        moved = X.exp()
    assert not torch.equal(plain, moved)
    assert torch.allclose(plain, moved, rtol=2.0**-51, atol=0)


def test_a_seed_says_how() -> None:
    def found(seed: int) -> torch.Tensor:
        with StochasticRounding(seed):
            return X * 3

    assert torch.equal(found(1), found(1))
    assert not torch.equal(found(1), found(2))


@pytest.mark.parametrize("op", [torch.relu, torch.neg, torch.clone, torch.amax, lambda x: x.view(3, 4).T])
def test_what_rounds_nothing_stays(op: Any) -> None:
    with StochasticRounding(0):
        found = op(X)
    assert torch.equal(found, op(X))


def test_backward_passes_in_place_ops_and_several_results_round_too() -> None:
    x = X.clone().requires_grad_()
    with StochasticRounding(0):
        (x.exp().log()).sum().backward()
        y = X.clone().mul_(1 / 3)
        values, _ = torch.linalg.eigh(torch.diag(X))
    assert x.grad is not None
    assert not torch.equal(x.grad, torch.ones(12, dtype=torch.float64))
    assert not torch.equal(y, X * (1 / 3))
    assert not torch.equal(values, X)
