"""Code that iterates, without a specification: processor time beside torch's slow `gradcheck` and `gradgradcheck`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from benchmarks.timing import Row, race
from gradcheck.testing import check_function

#: The most that all of them together may take, and each, in units of torch's time.
TOGETHER, EACH = 3.0, 6.0
_Tensor = torch.Tensor


class Code(NamedTuple):
    """A function, the shapes of its inputs, and how often it can be differentiated."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    order: int = 2


class Bisection(torch.autograd.Function):
    """The root of y ** 3 + y = x."""

    @staticmethod
    def forward(ctx: Any, x: _Tensor) -> _Tensor:
        low, high = torch.full_like(x, -10), torch.full_like(x, 10)
        for _ in range(60):
            middle = (low + high) / 2
            above = middle**3 + middle > x
            low, high = torch.where(above, low, middle), torch.where(above, middle, high)
        y: _Tensor = (low + high) / 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: _Tensor) -> _Tensor:
        (y,) = ctx.saved_tensors
        return g / (3 * y**2 + 1)


def _solve(x: _Tensor, w: _Tensor, steps: int = 20) -> _Tensor:
    """Twenty steps of Runge and Kutta's for x' = tanh(x w)."""
    h = 1 / steps
    for _ in range(steps):
        a = torch.tanh(x @ w)
        b = torch.tanh((x + h / 2 * a) @ w)
        c = torch.tanh((x + h / 2 * b) @ w)
        d = torch.tanh((x + h * c) @ w)
        x = x + h / 6 * (a + 2 * b + 2 * c + d)
    return x


class OdeSolver(torch.autograd.Function):
    """Its backward solves once more, as with checkpoints."""

    @staticmethod
    def forward(ctx: Any, x: _Tensor, w: _Tensor) -> _Tensor:
        ctx.save_for_backward(x, w)
        with torch.no_grad():
            return _solve(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: _Tensor) -> Any:
        x, w = (one.detach().requires_grad_() for one in ctx.saved_tensors)
        with torch.enable_grad():
            return torch.autograd.grad(_solve(x, w), (x, w), g)


class Recurrence(torch.autograd.Function):
    """h[i] = a[i] h[i - 1] + x[i], with its reverse scan by hand."""

    @staticmethod
    def forward(ctx: Any, a: _Tensor, x: _Tensor) -> _Tensor:
        h, found = torch.zeros_like(x[0]), []
        for i in range(len(x)):
            h = a[i] * h + x[i]
            found.append(h)
        y = torch.stack(found)
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: _Tensor) -> Any:
        a, y = ctx.saved_tensors
        d, da, dx = torch.zeros_like(g[0]), [], []
        for i in reversed(range(len(g))):
            d = g[i] + (a[i + 1] * d if i + 1 < len(g) else 0)
            dx.append(d)
            da.append(d * y[i - 1] if i else torch.zeros_like(d))
        return torch.stack(da[::-1]), torch.stack(dx[::-1])


def sinkhorn(cost: _Tensor) -> _Tensor:
    """Return the cost of the entropic transport plan between uniform weights."""
    kernel = torch.exp(-2 * cost)
    u, v = torch.ones_like(cost[:, 0]), torch.ones_like(cost[0])
    for _ in range(50):
        u = 1 / (kernel @ v)
        v = 1 / (kernel.T @ u)
    return (u[:, None] * kernel * v * cost).sum()


def newton(x: _Tensor) -> _Tensor:
    """Return the root of y ** 3 + y = x by twenty steps of Newton's."""
    y = x
    for _ in range(20):
        y = y - (y**3 + y - x) / (3 * y**2 + 1)
    return y


CODE = {
    "a bisection": Code(Bisection.apply, ((4, 5),)),
    "an ODE solver": Code(OdeSolver.apply, ((4, 3), (3, 3)), 1),
    "a linear recurrence": Code(Recurrence.apply, ((20, 2), (20, 2))),
    "Sinkhorn iterations": Code(sinkhorn, ((5, 5),)),
    "Newton's method": Code(newton, ((4, 5),)),
}


def rows() -> Iterator[Row]:
    """One row for all functions together."""
    ratios, mine, theirs = {}, 0.0, 0.0
    for name, code in CODE.items():
        generator = torch.Generator().manual_seed(0)
        inputs = [torch.randn(s, dtype=torch.float64, generator=generator, requires_grad=True) for s in code.shapes]
        contestants = {"torch": partial(_by_torch, code, inputs), "gradcheck": partial(_by_gradcheck, code, inputs)}
        timing = race(contestants, rounds=3, clock=time.process_time)
        ratios[name] = timing.ratio("gradcheck", "torch")
        mine, theirs = mine + timing.median("gradcheck"), theirs + timing.median("torch")
    each = ", ".join(f"{name} {ratio:.2g} ×" for name, ratio in ratios.items())
    what = "code that iterates, beside torch's slow `gradcheck` and `gradgradcheck`"
    kept = mine <= TOGETHER * theirs and max(ratios.values()) <= EACH
    yield Row(what, f"{mine / theirs:.2g} × torch's time", f"≤ {TOGETHER:.0f} ×, each ≤ {EACH:.0f} ×", kept, each)


def _by_torch(code: Code, inputs: list[_Tensor]) -> None:
    torch.autograd.gradcheck(code.function, inputs)
    if code.order == 2:
        torch.autograd.gradgradcheck(code.function, inputs)


def _by_gradcheck(code: Code, inputs: list[_Tensor]) -> None:
    check_function(code.function, inputs=dict(zip("ab", inputs, strict=False)))
