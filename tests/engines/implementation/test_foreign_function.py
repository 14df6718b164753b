"""Code that hands back gradients itself, as a node of torch's graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.foreign_function import (
    ForeignCall,
    Observations,
    ReturnedGradient,
    intercept_backward,
)
from gradcheck.engines.tensor_class.user_code_guard import CodeError


def code(arguments: list[Any], needs: list[bool]) -> Any:
    x, factor = arguments
    return [x * factor], False, lambda incoming: [incoming[0] * factor, None]


def call(pulled: Any, arguments: list[Any], record: Observations, restart: Any = lambda: None) -> Any:
    return ForeignCall(pulled, arguments, record, lambda tensor: tensor.detach().numpy(), restart).results()


def run(pulled: Any, record: Observations) -> torch.Tensor:
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    call(pulled, [x, 3.0], record).sum().backward()
    assert x.grad is not None
    return x.grad


def test_gradients_flow_through_it() -> None:
    record = Observations()
    assert torch.equal(run(code, record), torch.full((2, 2), 3.0, dtype=torch.float64))
    assert record == Observations()


def test_a_shape_that_torch_would_refuse_is_kept() -> None:
    record = Observations()
    found = run(lambda a, n: ([a[0]], False, lambda g: [g[0].sum(0), None]), record)
    assert not found.any()
    assert record.misshapen_gradients[0].shape == (2,)


def test_what_is_changed_in_place_is_noted() -> None:
    def changing(arguments: list[Any], needs: list[bool]) -> Any:
        arguments[0] *= 2

        def pull(incoming: list[np.ndarray]) -> Any:
            incoming[0] *= 2
            return [incoming[0], None]

        return [arguments[0]], False, pull

    record = Observations()
    run(changing, record)
    assert record.changed_arguments.keys() == {"argument 0", "incoming"}


def test_what_is_changed_on_the_way_back_is_noted() -> None:
    def keeping(arguments: list[Any], needs: list[bool]) -> Any:
        x = arguments[0]

        def pull(incoming: list[np.ndarray]) -> Any:
            x[x > 0] = 0.5
            return [incoming[0] * x, None]

        return [x * 2], False, pull

    record = Observations()
    run(keeping, record)
    assert record.changed_arguments.keys() == {"argument 0"}


def test_a_more_precise_gradient_is_noted() -> None:
    record = Observations()
    x = torch.ones(2, requires_grad=True)
    pulled: Any = lambda a, n: ([a[0]], False, lambda g: [g[0].astype(np.float64)])  # noqa: E731
    call(pulled, [x], record).sum().backward()
    assert record.wider_dtypes == {"float64"}


class Cube:
    """`x ** 3`, whose gradient can be differentiated."""

    def __call__(self, arguments: list[Any], needs: list[bool]) -> Any:
        (x,) = arguments
        return [x**3], False, lambda incoming: [3 * x**2 * incoming[0]]

    def gradients(self, needs: tuple[bool, ...]) -> Any:
        assert needs == (True,)

        def slope(arguments: list[Any], needs: list[bool]) -> Any:
            x, g = arguments
            return [3 * x**2 * g], True, lambda incoming: [6 * x * g * incoming[0], 3 * x**2 * incoming[0]]

        return slope


def test_gradients_are_differentiated_by_a_call_of_their_own() -> None:
    restarts: list[int] = []
    x = torch.full((2,), 2.0, dtype=torch.float64, requires_grad=True)
    g = torch.full((2,), 5.0, dtype=torch.float64, requires_grad=True)
    result = call(Cube(), [x], Observations(), lambda: restarts.append(1))
    (first,) = torch.autograd.grad(result, x, g, create_graph=True)
    second, by_incoming = torch.autograd.grad(first.sum(), [x, g])
    assert first.tolist() == [60, 60]
    assert second.tolist() == [60, 60]
    assert by_incoming.tolist() == [12, 12]
    assert restarts == [1]


def _function(*returned: Any, name: str = "backward") -> Any:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return x @ w

    def backward(ctx: Any, g: Any) -> Any:
        return returned if len(returned) != 1 else returned[0]

    setattr(Product, name, staticmethod(backward))
    return Product


def _kept(function: Any) -> list[ReturnedGradient]:
    x, w = torch.ones(4, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    kept: list[ReturnedGradient] = []
    y = function.apply(x, w)
    known = torch.autograd.function.BackwardCFunction.apply
    with intercept_backward(kept.append):
        y.sum().backward()
    assert torch.autograd.function.BackwardCFunction.apply is known
    assert x.grad is None or x.grad.shape == x.shape
    return kept


@pytest.mark.parametrize("name", ["backward", "vjp"])
def test_what_torch_would_refuse_is_kept(name: str) -> None:
    kept = _kept(_function(torch.ones(3, 2), torch.ones(4, 3), name=name))
    assert [(one.name, tuple(one.gradient.shape), one.shape, one.fits) for one in kept] == [
        ("x", (3, 2), (4, 3), False),
        ("w", (4, 3), (3, 2), False),
    ]
    assert str(kept[0].does_not_fit()) == "the backward of Product returned shape [3, 2] for x of shape [4, 3]"


@pytest.mark.parametrize("more", [(), (None, None)])
def test_what_torch_sums_is_kept_and_goes_through(more: tuple[Any, ...]) -> None:
    (one,) = _kept(_function(torch.ones(7, 4, 3), None, *more))
    assert one.fits
    assert one.summed("x")["axes"] == (0,)


def test_what_has_the_right_shape_is_not_kept() -> None:
    assert _kept(_function(torch.ones(4, 3), torch.ones(3, 2))) == []


def test_the_names_do_not_count_the_context() -> None:
    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return x @ w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return None, g

    (one,) = _kept(Apart)
    assert (one.place, one.name) == (1, "w")


@pytest.mark.parametrize("returned", [(torch.ones(4, 3),), (None, torch.ones(4, 3), torch.ones(3, 2))])
def test_another_number_of_gradients_is_a_mistake(returned: Any) -> None:
    with pytest.raises(CodeError, match=r"backward returned \d gradients? for 2 arguments"):
        _kept(_function(*returned))
