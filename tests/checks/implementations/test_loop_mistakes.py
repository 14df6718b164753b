"""Contributions that replace each other, or of which one is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.testing import check_function
from tests.engines.implementation.build import with_code

CASE = 'dims: {n: 2, l: 7}\ninputs: {x: "randn(n, 1, l)", w: "randn(1, 1, 3)"}\ngraph: {y: "F.conv1d(x, w)"}'


def forward(x: Any, w: Any) -> Any:
    places = range(x.shape[2] - 2)
    return np.stack([(x[:, :, t : t + 3] * w[0]).sum((1, 2)) for t in places], -1)[:, None], (x, w)


def gradients(g: Any, c: Any, adds: bool = True, flip: bool = False, only: int | None = None, short: int = 0) -> Any:
    x, w = c
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for t in range(g.shape[2] - short):
        one = g[:, :, t : t + 1] * (w[:, :, ::-1] if flip else w)
        dx[:, :, t : t + 3] = dx[:, :, t : t + 3] + one if adds else one
        if only is None or t == range(g.shape[2])[only]:
            dw += (g[:, :, t : t + 1] * x[:, :, t : t + 3]).sum(0)
    return dx, dw


@pytest.mark.parametrize(
    ("how", "tensor", "kind"),
    [
        ({"adds": False}, "x", "overwritten"),
        ({"flip": True}, "x", "flipped"),
        ({"only": -1}, "w", "overwritten"),
        ({"only": 0}, "w", "use_dropped"),
        ({"short": 1}, "w", "use_dropped"),
        ({"short": 2}, "w", "use_dropped"),
        ({"short": 2}, "x", "use_dropped"),
    ],
)
def test_they_are_named(how: dict[str, Any], tensor: str, kind: str) -> None:
    (right,) = run(with_code(CASE, (forward, gradients)), allow_code=True).cases
    assert right.status == "passed"
    (found,) = run(with_code(CASE, (forward, lambda g, c: gradients(g, c, **how))), allow_code=True).cases
    assert kind in {d.kind for c in found.comparisons if c.tensor == tensor for d in c.diagnoses}


def _cell(x: Any, h: Any) -> Any:
    first, second = np.zeros_like(x), np.zeros_like(x)
    first[:], second[:] = np.tanh(x + h), x * h * h  # torch does not follow it: differences decide
    return first, second, (x, h)


def _cell_backward(dy: Any, dz: Any, cache: Any) -> Any:
    x, h = cache
    inner = dy * (1 - np.tanh(x + h) ** 2)
    return inner, inner + 2 * dz * x * h


def test_an_incoming_gradient_that_is_ignored_is_named_before_other_failures() -> None:
    with pytest.raises(AssertionError) as failed:
        check_function(_cell, _cell_backward, x=(3, 4), h=(3, 4))
    assert "the incoming gradient of y[1] is ignored" in str(failed.value)


def _convolved(x: Any, w: Any) -> Any:
    found = np.zeros((x.shape[0], x.shape[1] - 1))
    for n in range(x.shape[0]):
        for t in range(found.shape[1]):
            found[n, t] = x[n, t : t + 2] @ w
    return found, (x, w)


def _assigned(g: Any, cache: Any) -> Any:
    x, w = cache
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for n in range(g.shape[0]):
        for t in range(g.shape[1]):
            dx[n, t : t + 2] += g[n, t] * w
            dw = g[n, t] * x[n, t : t + 2]
    return dx, dw


def test_the_last_round_of_nested_loops_is_named() -> None:
    with pytest.raises(AssertionError) as failed:
        check_function(_convolved, _assigned, x=(3, 5), w=(2,))
    assert "contributions along dims 0, 1 of y replace each other" in " ".join(str(failed.value).split())


def _pooled(x: Any) -> Any:
    found = np.zeros((*x.shape[:2], x.shape[2] - 1, x.shape[3] - 1))
    for i, j in np.ndindex(*found.shape[2:]):
        found[:, :, i, j] = x[:, :, i : i + 2, j : j + 2].max((2, 3))
    return found, (x, found)


def _assigned_windows(whole: bool, order: int, g: Any, cache: Any) -> Any:
    x, found = cache
    dx = np.zeros_like(x)
    for i, j in list(np.ndindex(*found.shape[2:]))[::order]:
        window = (slice(None), slice(None), slice(i, i + 2), slice(j, j + 2))
        chosen = x[window] == found[:, :, i, j, None, None]
        dx[window] = np.where(chosen, g[:, :, i, j, None, None], 0 if whole else dx[window])
    return dx


@pytest.mark.parametrize(("whole", "order"), [(False, 1), (True, 1), (False, -1)])
def test_windows_that_replace_each_other_are_named(whole: bool, order: int) -> None:
    with pytest.raises(AssertionError) as failed:
        check_function(_pooled, lambda g, cache: _assigned_windows(whole, order, g, cache), x=(2, 2, 3, 3))
    assert "windows along dims 2, 3 of y replace each other" in " ".join(str(failed.value).split())


def _summed_so_far(x: Any, h: Any) -> Any:
    found = np.zeros_like(x)
    for t in range(x.shape[1]):
        found[:, t] = h = np.tanh(x[:, t] + 0.5 * h)
    return found, found


def _each_step_alone(g: Any, found: Any) -> Any:
    d = g * (1 - found**2)
    return d, 0.5 * d[:, 0]


def test_paths_between_steps_that_are_dropped_are_named() -> None:
    with pytest.raises(AssertionError) as failed:
        check_function(_summed_so_far, _each_step_alone, x=(2, 4), h=(2,))
    told = " ".join(str(failed.value).split())
    assert "each slice along dim 1 has what arrives from the same slice of y along dim 1 alone" in told


def _affine(a: Any, x: Any, start: Any) -> Any:
    found = np.zeros_like(x)
    found[:, 0] = a[:, 0] * start + x[:, 0]
    for t in range(1, x.shape[1]):
        found[:, t] = a[:, t] * found[:, t - 1] + x[:, t]
    return found, (a, x, start)


def _without_x(g: Any, cache: Any) -> Any:
    a, x, start = cache
    before, _ = _affine(a, 0 * x, start)
    carried = np.zeros_like(g)
    for t in reversed(range(g.shape[1])):
        carried[:, t] = g[:, t] + (a[:, t + 1] * carried[:, t + 1] if t + 1 < g.shape[1] else 0)
    return carried * np.concatenate([start[:, None], before[:, :-1]], 1), carried, carried[:, 0] * a[:, 0]


def test_terms_of_an_input_that_are_missing_are_no_overwritten_slices() -> None:
    with pytest.raises(AssertionError) as failed:
        check_function(_affine, _without_x, a=(2, 4), x=(2, 4), start=(2,))
    told = str(failed.value)
    assert "the terms with x are missing" in told
    assert "replace each other" not in told


def _halved(dy: Any, dz: Any, cache: Any) -> Any:
    x, h = cache
    inner = dy * (1 - np.tanh(x + h) ** 2)
    return inner + 0.5 * dz * h * h, inner + 2 * dz * x * h


def test_a_result_that_arrives_with_a_factor_is_named() -> None:
    with pytest.raises(AssertionError) as failed:
        check_function(_cell, lambda dy, dz, cache: _halved(dy, dz, cache), x=(3, 4), h=(3, 4))
    assert "what arrives from y[1] comes with the factor 0.5" in str(failed.value)


class _Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return y - x, y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return -grads[0], grads[0]


def test_a_result_that_is_ignored_is_named_where_the_other_one_is_passed_on() -> None:
    with pytest.raises(AssertionError, match=r"cause: the incoming gradient of \S+ is ignored"):
        check_function(_Both.apply, x=(3, 4), y=(3, 4))
