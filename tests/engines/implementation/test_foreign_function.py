"""Code that hands back gradients itself, as a node of torch's graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gradcheck.engines.implementation.foreign_function import Observations, call_foreign


def code(arguments: list[Any], needs: list[bool]) -> Any:
    x, factor = arguments
    return [x * factor], False, lambda incoming: [incoming[0] * factor, None]


def run(pulled: Any, record: Observations) -> torch.Tensor:
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    call_foreign(pulled, [x, 3.0], record, lambda tensor: tensor.numpy()).sum().backward()
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
    call_foreign(pulled, [x], record, lambda tensor: tensor.numpy()).sum().backward()
    assert record.wider_dtypes == {"float64"}
