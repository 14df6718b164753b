"""Somebody's code: right and wrong functions, pairs and modules, for the tests of several rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


class OnlyOnce(Tanh):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


class WrongSign(Tanh):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * (y * y - 1)


class Raises(Tanh):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("no such thing")


class ChangesIncoming(Tanh):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g.mul_(1 - y * y)


class Remembers(torch.autograd.Function):
    """It keeps what it needs where the next call overwrites it."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        Remembers.kept = torch.tanh(x)  # type: ignore[attr-defined]
        return Remembers.kept.clone()  # type: ignore[attr-defined]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (1 - Remembers.kept**2)  # type: ignore[attr-defined]


class NeedsContiguous(Tanh):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g.view(-1).view(y.shape) * (1 - y * y)


class SecondOrderLost(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (1 - torch.tanh(x.detach()) ** 2)


class Apart(torch.autograd.Function):
    """Its context is set up apart."""

    @staticmethod
    def forward(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a * b

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b, g * a


def affine(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return x @ w + b


def narrow(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x.float()).double()


def noisy(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * (1 + 1e-5 * torch.rand(()))


def changes_input(x: torch.Tensor) -> torch.Tensor:
    y = torch.tanh(x)
    x.data.add_(1.0)
    return y


def naive_variance(x: torch.Tensor) -> torch.Tensor:
    return (x * x).mean(1) - x.mean(1) ** 2


def prints(x: torch.Tensor) -> torch.Tensor:
    print("seen", tuple(x.shape))
    return torch.tanh(x)


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4, 3))
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(x, self.weight) * self.scale


def affine_forward(x: Any, w: Any, b: Any) -> Any:
    return x @ w + b, (x, w)


def affine_backward(dout: Any, cache: Any) -> Any:
    x, w = cache
    return dout @ w.T, x.T @ dout, dout.sum(0)


def not_summed(dout: Any, cache: Any) -> Any:
    x, w = cache
    return dout @ w.T, x.T @ dout, dout


def by_name(dout: Any, cache: Any) -> Any:
    x, w = cache
    return {"dx": dout @ w.T, "dw": x.T @ dout, "db": dout.sum(0)}


def uses_up(dout: Any, cache: Any) -> Any:
    x, w = cache
    found = dout @ w.T, x.T @ dout, dout.sum(0)
    w *= 0
    return found


def square(x: Any) -> Any:
    return x**2


def square_backward(incoming: Any, x: Any) -> Any:
    return 2 * incoming * x


def sine_forward(x: Any) -> Any:
    return np.sin(x), x


def sine_backward(incoming: Any, x: Any) -> Any:
    return incoming * np.cos(x)


class Doubled(torch.autograd.Function):
    """Twice the tangent and twice what is mapped, by rules of its own."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return 2 * x.sum(0)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (2 * g).expand(ctx.shape)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 2 * t.sum(0)

    @staticmethod
    def vmap(info: Any, dims: Any, x: torch.Tensor) -> Any:
        return 2 * x.movedim(dims[0], 0).sum(1), 0


class WrongRules(Doubled):
    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return -2 * t.sum(0)

    @staticmethod
    def vmap(info: Any, dims: Any, x: torch.Tensor) -> Any:
        return 2 * x.sum(1), 0


class Chancy(Tanh):
    """Of the wrong sign in a third of its passes."""

    passes = 0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Chancy.passes += 1
        (y,) = ctx.saved_tensors
        return g * (1 - y * y) * (-1 if Chancy.passes % 3 == 0 else 1)


class Summing:
    """A layer as courses have it, which keeps in itself what its backward needs."""

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()

    def forward(self, x: Any) -> Any:
        self.shape = x.shape
        return 2 * x.sum(0)

    def backward(self, incoming: Any) -> Any:
        return np.broadcast_to(2 * incoming, self.shape).copy()


class DropsW(torch.autograd.Function):
    """A product whose second argument gets no gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(w)
        return x * w

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        (w,) = ctx.saved_tensors
        return g * w, None


class SignAndSize(torch.autograd.Function):
    """Two results, the first of which is marked as not differentiable."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> Any:
        sign, size = x.sign(), x.abs()
        ctx.save_for_backward(sign)
        ctx.mark_non_differentiable(sign)
        return sign, size

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        (sign,) = ctx.saved_tensors
        return h * sign


class HalfInOne(torch.autograd.Function):
    """A product, of which one gradient is computed in half precision."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        x, y = ctx.saved_tensors
        return g * y, (g.half() * x.half()).to(g.dtype)


class SingleInside(torch.autograd.Function):
    """A mean in single precision."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.shape = x.shape
        return x.float().mean(0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return (g / ctx.shape[0]).expand(ctx.shape)


class MaskInSingle(torch.autograd.Function):
    """A rectifier with a mask of numbers in single precision, which is as exact in any."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward((x > 0).float())
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g * ctx.saved_tensors[0]
