"""Gradients as a function of the inputs and the incoming gradients."""

from __future__ import annotations

from typing import Any

import torch

from gradcheck.engines.implementation.first_gradients import first_gradients, random_incoming


def _function(x: Any, w: Any, a: float) -> Any:
    return {"y": a * x * w, "n": 3, "z": [x.sin(), None]}


def test_gradients_are_those_of_all_results() -> None:
    x, w = torch.rand(3, requires_grad=True), torch.rand(3)
    g, h = random_incoming(_function, (x, w, 2.0))
    gradients = first_gradients(_function, (x, w, 2.0), 2)
    with torch.no_grad():
        (dx,) = gradients(x.detach(), w, 2.0, g, h)
    assert torch.allclose(dx, 2 * w * g + x.cos() * h)
    assert dx.requires_grad


def test_gradients_that_do_not_arrive_are_left_out() -> None:
    x, unused = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    (g,) = random_incoming(lambda x, unused: 2 * x, (x, unused))
    (dx,) = first_gradients(lambda x, unused: 2 * x, (x, unused), 1)(x, unused, g)
    assert torch.equal(dx, 2 * g)
