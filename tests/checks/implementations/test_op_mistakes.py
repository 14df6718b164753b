"""Mistakes at one op inside an entry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.testing import check_function
from tests.engines.implementation.build import with_code

CASE = 'dims: {n: 3, d: 2}\ninputs: {x: "randn(n, d)", w: "randn(d, d)"}\ngraph: {y: tanh(x @ w) + 2 * x}'
_ROW = np.array([0.4, -1.1, 0.9, 1.7])


def forward(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) + 2 * x, (x, w, np.tanh(x @ w))


@pytest.mark.parametrize(
    ("backward", "tensor", "kind"),
    [
        (lambda g, c: (g @ c[1].T + 2 * g, c[0].T @ g), "w", "incoming_passed_on"),  # without tanh's derivative
        (lambda g, c: (0 * g + 2 * g, c[0].T @ (g * (1 - c[2] ** 2))), "x", "path_dropped"),
        (lambda g, c: ((g * (1 - c[2] ** 2)) @ c[1].T + 2.5 * g, c[0].T @ (g * (1 - c[2] ** 2))), "x", "factor"),
        (
            lambda g, c: ((g * (1 - c[2] ** 2)) @ c[1] + 2 * g, c[0].T @ (g * (1 - c[2] ** 2))),
            "x",
            "operand_transposed",
        ),
    ],
)
def test_they_are_named(backward: Any, tensor: str, kind: str) -> None:
    (found,) = run(with_code(CASE, (forward, backward)), allow_code=True).cases
    kinds = {c.tensor: [d.kind for d in c.diagnoses] for c in found.comparisons if c.diagnoses}
    assert kind in kinds[tensor]


def test_what_is_no_known_mistake_stays_unknown() -> None:
    def backward(g: Any, c: Any) -> Any:
        return (g * (1 - c[2] ** 2)) @ c[1].T + g * (2 + np.sin(7 * c[0])), c[0].T @ (g * (1 - c[2] ** 2))

    (found,) = run(with_code(CASE, (forward, backward)), allow_code=True).cases
    assert {d.kind for c in found.comparisons for d in c.diagnoses} == {"unknown"}


def _function(forward: Any, form: Any) -> Any:
    class Gelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                return torch.autograd.grad(form(x), x, g)

    return Gelu.apply


def _exact(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def _tanh(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


@pytest.mark.parametrize(
    ("forward", "form", "cause"),
    [
        (_exact, _tanh, r"of gelu\(x, approximate='tanh'\), where that of gelu\(x\) belongs"),
        (_tanh, torch.nn.functional.gelu, r"of gelu\(x\), where that of gelu\(x, approximate='tanh'\) belongs"),
        (
            torch.nn.functional.gelu,
            lambda x: x * torch.sigmoid(1.702 * x),
            r"of x \* sigmoid\(1.702 \* x\), where that of gelu\(x\)",
        ),
    ],
)
def test_the_derivative_of_another_form_is_named(forward: Any, form: Any, cause: str) -> None:
    with pytest.raises(AssertionError, match=f"cause: computed as the derivative {cause}"):
        check_function(_function(forward, form), x=_ROW, choices={"order": 1})


def test_another_mistake_is_not_told_as_one() -> None:
    with pytest.raises(AssertionError) as caught:
        check_function(
            _function(torch.nn.functional.gelu, lambda x: torch.nn.functional.gelu(x) + 0.01 * torch.sin(3 * x)),
            x=_ROW,
            choices={"order": 1},
        )
    assert "derivative of" not in str(caught.value)
