"""Code that hands back gradients itself, as a node of torch's graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gradcheck.engines.implementation.foreign_function import ForeignCall, Observations


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
