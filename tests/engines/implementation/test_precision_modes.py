"""Modes that watch, or perturb, torch's precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.engines.implementation.precision_modes import PrecisionProbe, StochasticRounding, UnwrittenIsNan


@pytest.mark.parametrize(
    ("narrow", "least"),
    [(torch.float32, torch.float32), (torch.float64, None), (torch.complex64, torch.float32)],
)
def test_the_least_precise_dtype_is_found(narrow: torch.dtype, least: torch.dtype | None) -> None:
    with PrecisionProbe(torch.float64) as seen:
        torch.full((2,), 1 / 3, dtype=torch.float64).to(narrow) * 2
    assert seen.least_precise is least


def test_exact_numbers_do_not_count() -> None:
    with PrecisionProbe(torch.float64) as seen:
        (torch.arange(3.0, dtype=torch.float64) > 1).half() * 0.5
    assert seen.least_precise is None


def test_the_less_precise_of_two_dtypes_is_found() -> None:
    third = torch.full((2,), 1 / 3, dtype=torch.float64)
    with PrecisionProbe(torch.float64) as seen:
        third.half()
        third.float()
    assert seen.least_precise is torch.float16


X = torch.linspace(0.7, 7.0, 12, dtype=torch.float64)


def test_results_move_by_at_most_a_unit() -> None:
    plain = X.exp()
    with StochasticRounding(0):
        moved = X.exp()
    assert not torch.equal(plain, moved)
    assert torch.allclose(plain, moved, rtol=2.0**-51, atol=0)


def test_a_seed_repeats_the_perturbation() -> None:
    def found(seed: int) -> torch.Tensor:
        with StochasticRounding(seed):
            return X * 3

    assert torch.equal(found(1), found(1))
    assert not torch.equal(found(1), found(2))


@pytest.mark.parametrize("op", [torch.relu, torch.neg, torch.clone, torch.amax, lambda x: x.view(3, 4).T])
def test_exact_ops_are_unchanged(op: Any) -> None:
    with StochasticRounding(0):
        found = op(X)
    assert torch.equal(found, op(X))


def test_backward_in_place_and_tuple_results_are_perturbed() -> None:
    x = X.clone().requires_grad_()
    with StochasticRounding(0):
        (x.exp().log()).sum().backward()
        y = X.clone().mul_(1 / 3)
        values, _ = torch.linalg.eigh(torch.diag(X))
    assert x.grad is not None
    assert not torch.equal(x.grad, torch.ones(12, dtype=torch.float64))
    assert not torch.equal(y, X * (1 / 3))
    assert not torch.equal(values, X)


def test_perturbation_in_place_leaves_numbers_that_the_op_did_not_change() -> None:
    # Triton's interpreter gives a new tensor the memory of each argument by `set_`
    with StochasticRounding(0):
        shared = torch.empty(0, dtype=torch.float64)
        given = X.clone()
        shared.set_(given.untyped_storage(), 0, (12,), (1,))
        added = X.clone().index_add_(0, torch.tensor([3]), torch.tensor([0.1], dtype=torch.float64))
        copied = torch.empty(12, dtype=torch.float64).copy_(X)
    assert torch.equal(given, X)
    assert torch.equal(copied, X)
    assert (added != X).nonzero().tolist() == [[3]]


def test_memory_that_is_not_written_is_nan() -> None:
    x = torch.ones(3)
    with UnwrittenIsNan():
        empty, like, new = torch.empty(3), torch.empty_like(x), x.new_empty(3)
        whole, zeros = torch.empty(3, dtype=torch.int64), torch.zeros(3)
    assert all(bool(one.isnan().all()) for one in (empty, like, new))
    assert whole.shape == (3,)
    assert zeros.tolist() == [0, 0, 0]
