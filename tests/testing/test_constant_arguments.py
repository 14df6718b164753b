"""Tensors that require no gradient, beside shapes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.testing import check_function

F64 = torch.float64


class Scaled(torch.autograd.Function):
    """`x * by`, with a gradient of `by` that is wrong, or none."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: torch.Tensor, wrong: float | None) -> torch.Tensor:
        ctx.save_for_backward(x, by)
        ctx.wrong = wrong
        return x * by

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, by = ctx.saved_tensors
        return g * by, None if ctx.wrong is None else ctx.wrong * (g * x).sum(), None


@pytest.mark.parametrize("spec", [None, "x * by"])
def test_a_tensor_without_a_gradient_beside_a_shape_is_constant(spec: str | None) -> None:
    found = check_function(Scaled.apply, x=(4, 3), by=torch.tensor(0.5, dtype=F64), wrong=None, spec=spec)
    notes = [note for one in found.cases[0].comparisons for note in one.notes if note.kind == "results_constant"]
    assert [note["names"] for note in notes] == [("by",)]


def test_the_result_need_not_have_the_shape_of_the_first_input() -> None:
    by = torch.tensor(0.5)
    choices = {"dtypes": ["float32"]}
    check_function(lambda x, y, by: Scaled.apply(x * y, by, None), x=(3,), y=(4, 3), by=by, choices=choices)


@pytest.mark.parametrize("asks", [False, True])
def test_a_gradient_that_arrives_is_checked(asks: bool) -> None:
    by = torch.tensor(0.5, dtype=F64, requires_grad=asks)
    check_function(Scaled.apply, x=(4, 3), by=by, wrong=1.0)
    with pytest.raises(AssertionError, match="gradient of by"):
        check_function(Scaled.apply, x=(4, 3), by=by, wrong=2.0)


@pytest.mark.parametrize(
    "given", [{"x": (4, 3), "requires": True}, {"x": torch.ones(4, 3, dtype=F64), "requires": False}]
)
def test_a_gradient_that_is_due_and_missing_fails(given: dict[str, Any]) -> None:
    by = torch.tensor(0.5, dtype=F64, requires_grad=given["requires"])
    with pytest.raises(AssertionError, match="gradient of by"):
        check_function(Scaled.apply, x=given["x"], by=by, wrong=None)
