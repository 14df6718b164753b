"""Wrong gradients that an in-place change explains, and others."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradcheck.testing import check_function

_X = torch.tensor([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]], dtype=torch.float64)


def product(a: Any, b: Any) -> Any:
    return a * b, (a, b)


def doubling_incoming(g: Any, cache: Any) -> Any:
    a, b = cache
    g *= 2
    return g * b / 2, g * a


def changing_before_return(g: Any, cache: Any) -> Any:
    a, b = cache
    found = g * b, 3 * g * a
    b += 1
    return found


def report_of(backward: Any, **choices: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        check_function(product, backward, a=(3, 4), b=(3, 4), **choices)
    return " ".join(str(raised.value).split())


@pytest.mark.parametrize("choices", [{}, {"spec": "a * b"}])
def test_a_changed_incoming_gradient_is_the_cause(choices: dict[str, Any]) -> None:
    report = report_of(doubling_incoming, **choices)
    assert "cause: product changes its incoming gradient in place" in report
    assert "factor" not in report


def test_a_change_that_explains_nothing_is_not_the_cause() -> None:
    assert "cause: off by the constant factor 3" in report_of(changing_before_return)


def _scaled(gradient_of_b: Any) -> Any:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x, b)
            return x * b

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            x, b = ctx.saved_tensors
            return g * b, gradient_of_b(g, x)

    return Scale.apply


def _operands() -> dict[str, Any]:
    return {"x": _X.clone().requires_grad_(), "b": _X[0].clone().requires_grad_()}


def _facts(found: Any) -> list[Any]:
    return [one for c in found.cases[0].comparisons for one in (*c.notes, *(d.message for d in c.diagnoses))]


def test_a_sum_that_torch_takes_is_noted() -> None:
    (note,) = (
        one for one in _facts(check_function(_scaled(lambda g, x: g * x), **_operands())) if "got" in dict(one.data)
    )
    assert (note.kind, note["name"], note["got"], note["want"], note["axes"]) == (
        "returned_is_summed",
        "b",
        (2, 3),
        (3,),
        (0,),
    )


def test_a_gradient_that_is_summed_already_is_named() -> None:
    with pytest.raises(AssertionError, match="cause: summed once too often: backward returned shape \\[2, 3\\]"):
        check_function(_scaled(lambda g, x: (g * x).sum(0).expand(2, 3)), **_operands())


def test_another_mistake_keeps_its_cause_beside_the_note() -> None:
    with pytest.raises(AssertionError) as caught:
        check_function(_scaled(lambda g, x: 2.5 * g * x), **_operands())
    kinds = [one.kind for one in _facts(caught.value.result)]  # type: ignore[attr-defined]
    assert {"off_by_factor", "returned_is_summed"} <= set(kinds)
    assert "returned_is_right" not in kinds


def test_a_shape_that_does_not_fit_is_told_by_name_within_other_code_too() -> None:
    function = _scaled(lambda g, x: (g * x).sum(1))
    with pytest.raises(AssertionError, match="the backward of Scale returned shape \\[2\\] for b of shape \\[3\\]"):
        check_function(lambda x, b: 2 * function(x, b), **_operands())
