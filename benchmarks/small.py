"""Ordinary ops on (4, 4) float64, forward and backward, beside torch: what an op itself costs, for each of them.

Each is applied 100 times in a row, from a leaf that needs a gradient, and a gradient of ones is sent back. Every
expression keeps the shape, and is written the same for both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import gradcheck.autograd.ops as core_ops
from benchmarks.timing import Row, Timing, race
from gradcheck import Tensor

TIMES = 100
SHAPE = (4, 4)

#: An op as it is written with either library: `f(library, functional, h, w)`; `w` is a constant tensor.
Use = Callable[[Any, Any, Any, Any], Any]

#: The ones that have a row each.
NAMED: dict[str, Use] = {
    "add": lambda lib, nn, h, w: h + w,
    "mul": lambda lib, nn, h, w: h * w,
    "div": lambda lib, nn, h, w: h / w,
    "matmul": lambda lib, nn, h, w: h @ w,
    "exp": lambda lib, nn, h, w: lib.exp(h),
    "log": lambda lib, nn, h, w: lib.log(h),
    "tanh": lambda lib, nn, h, w: lib.tanh(h),
    "sigmoid": lambda lib, nn, h, w: lib.sigmoid(h),
    "relu": lambda lib, nn, h, w: lib.relu(h),
    "clamp": lambda lib, nn, h, w: lib.clamp(h, -0.5, 0.5),
    "where": lambda lib, nn, h, w: lib.where(w > 0, h, w),
    "softmax": lambda lib, nn, h, w: lib.softmax(h, 1),
    "sum": lambda lib, nn, h, w: h.sum().expand(4, 4),
    "sum, broadcast": lambda lib, nn, h, w: h + h.sum(0),
    "mean": lambda lib, nn, h, w: h - h.mean(1, keepdim=True),
    "reshape": lambda lib, nn, h, w: h.reshape(2, 8).reshape(4, 4),
    "transpose": lambda lib, nn, h, w: h.transpose(0, 1),
    "getitem": lambda lib, nn, h, w: h[[2, 0, 1, 3]],
    "cat": lambda lib, nn, h, w: lib.cat([h[:2], w[2:]]),
    "stack": lambda lib, nn, h, w: lib.stack([h[0], h[1], h[2], h[3]]),
}
#: Others of the same kind, which share a row.
OTHERS: dict[str, Use] = {
    "sub": lambda lib, nn, h, w: h - w,
    "number / tensor": lambda lib, nn, h, w: 2.0 / h,
    "number - tensor": lambda lib, nn, h, w: 2.0 - h,
    "neg": lambda lib, nn, h, w: -h,
    "abs": lambda lib, nn, h, w: lib.abs(h),
    "square": lambda lib, nn, h, w: lib.square(h),
    "pow 2": lambda lib, nn, h, w: h**2,
    "pow 3": lambda lib, nn, h, w: h**3,
    "sqrt": lambda lib, nn, h, w: lib.sqrt(h),
    "rsqrt": lambda lib, nn, h, w: lib.rsqrt(h),
    "reciprocal": lambda lib, nn, h, w: lib.reciprocal(h),
    "sin": lambda lib, nn, h, w: lib.sin(h),
    "cos": lambda lib, nn, h, w: lib.cos(h),
    "log1p": lambda lib, nn, h, w: lib.log1p(h),
    "expm1": lambda lib, nn, h, w: lib.expm1(h),
    "erf": lambda lib, nn, h, w: lib.erf(h),
    "minimum": lambda lib, nn, h, w: lib.minimum(h, w),
    "maximum": lambda lib, nn, h, w: lib.maximum(h, w),
    "atan2": lambda lib, nn, h, w: lib.atan2(h, w),
    "softplus": lambda lib, nn, h, w: nn.softplus(h),
    "gelu": lambda lib, nn, h, w: nn.gelu(h),
    "silu": lambda lib, nn, h, w: nn.silu(h),
    "elu": lambda lib, nn, h, w: nn.elu(h),
    "leaky_relu": lambda lib, nn, h, w: nn.leaky_relu(h),
    "hardtanh": lambda lib, nn, h, w: nn.hardtanh(h),
    "masked_fill": lambda lib, nn, h, w: h.masked_fill(w > 1, 0.5),
    "log_softmax": lambda lib, nn, h, w: lib.log_softmax(h, 1),
    "logsumexp": lambda lib, nn, h, w: h - lib.logsumexp(h, 1, keepdim=True),
    "layer_norm": lambda lib, nn, h, w: nn.layer_norm(h, (4,)),
    "cross_entropy": lambda lib, nn, h, w: h + nn.cross_entropy(h, w),
    "mse_loss": lambda lib, nn, h, w: h + nn.mse_loss(h, w),
    "var": lambda lib, nn, h, w: h - h.var(1, keepdim=True),
    "std": lambda lib, nn, h, w: h - h.std(1, keepdim=True),
    "norm": lambda lib, nn, h, w: h - h.norm(),
    "prod": lambda lib, nn, h, w: h - h.prod(1, keepdim=True),
    "amax": lambda lib, nn, h, w: h - h.amax(1, keepdim=True),
    "max": lambda lib, nn, h, w: h - h.max(),
    "max along": lambda lib, nn, h, w: h - h.max(1, keepdim=True)[0],
    "cumsum": lambda lib, nn, h, w: lib.cumsum(h, 1),
    "permute": lambda lib, nn, h, w: h.permute(1, 0),
    "T": lambda lib, nn, h, w: h.T,
    "squeeze, unsqueeze": lambda lib, nn, h, w: h.unsqueeze(0).squeeze(0),
    "flatten, view": lambda lib, nn, h, w: h.flatten().view(4, 4),
    "flip": lambda lib, nn, h, w: lib.flip(h, (0,)),
    "roll": lambda lib, nn, h, w: lib.roll(h, 1, 0),
    "tril": lambda lib, nn, h, w: lib.tril(h),
    "repeat": lambda lib, nn, h, w: h[:2].repeat(2, 1),
    "expand": lambda lib, nn, h, w: h[:1].expand(4, 4),
    "gather": lambda lib, nn, h, w: lib.gather(h, 1, PLACES[type(h)]),
    "index_select": lambda lib, nn, h, w: lib.index_select(h, 0, ROWS[type(h)]),
    "select": lambda lib, nn, h, w: h - h[1],
    "slice": lambda lib, nn, h, w: h - h[:, :1],
    "chunk": lambda lib, nn, h, w: lib.cat(h.chunk(2, 1)[::-1], 1),
    "einsum": lambda lib, nn, h, w: lib.einsum("ij,jk->ik", h, w),
    "linear": lambda lib, nn, h, w: nn.linear(h, w),
    "outer": lambda lib, nn, h, w: lib.outer(h[0], w[0]),
    "dot": lambda lib, nn, h, w: h - lib.dot(h[0], w[0]),
    "addmm": lambda lib, nn, h, w: lib.addmm(w, h, w),
    "lerp": lambda lib, nn, h, w: lib.lerp(h, w, 0.25),
    "diagonal": lambda lib, nn, h, w: h - h.diagonal(),
}
_PLACES = np.array([[0, 2, 1, 3]] * 4)
PLACES: dict[type, Any] = {Tensor: Tensor(_PLACES), torch.Tensor: torch.tensor(_PLACES)}
ROWS: dict[type, Any] = {Tensor: Tensor(_PLACES[0]), torch.Tensor: torch.tensor(_PLACES[0])}
_START = np.random.default_rng(0).uniform(0.5, 1.5, SHAPE)
_CONSTANT = np.random.default_rng(1).uniform(0.5, 1.5, SHAPE)


def core(use: Use, times: int = TIMES) -> Callable[[], object]:
    start, w, seed = Tensor(_START, requires_grad=True), Tensor(_CONSTANT), np.ones(SHAPE)

    def run() -> None:
        h = start
        for _ in range(times):
            h = use(core_ops, core_ops, h, w)
        h.backward(seed)

    return run


def with_torch(use: Use, times: int = TIMES) -> Callable[[], object]:
    start, w = torch.tensor(_START, requires_grad=True), torch.tensor(_CONSTANT)
    seed = torch.ones(SHAPE, dtype=torch.float64)

    def run() -> None:
        h = start
        for _ in range(times):
            h = use(torch, torch.nn.functional, h, w)
        torch.autograd.backward(h, seed)

    return run


def measured(use: Use, times: int = TIMES, rounds: int = 15) -> Timing:
    """In processor time: the machine may do other work meanwhile."""
    contestants = {"core": core(use, times), "torch": with_torch(use, times)}
    with np.errstate(all="ignore"):
        return race(contestants, rounds=rounds, clock=time.process_time)


def mean_of(ratios: Sequence[float]) -> float:
    return statistics.geometric_mean(ratios)


def rows() -> list[Row]:
    torch.set_num_threads(1)
    found, ratios = [], []
    for name, use in NAMED.items():
        timing = measured(use)
        ratio = timing.ratio("core", "torch")
        ratios.append(ratio)
        each = ", ".join(f"{side} {timing.median(side) / TIMES * 1e6:.1f}" for side in ("core", "torch"))
        found.append(Row(f"`{name}` on (4, 4)", f"{ratio:.2f} × torch", "≤ 1.5 × torch", ratio <= 1.5, f"µs: {each}"))
    others = {name: measured(use).ratio("core", "torch") for name, use in OTHERS.items()}
    slowest = sorted(others, key=others.__getitem__)[:-6:-1]
    worst = ", ".join(f"{name} {others[name]:.2f}" for name in slowest)
    return [
        *found,
        _mean_row(f"these {len(NAMED)} ops", ratios, ""),
        _mean_row(f"{len(OTHERS)} other ops on (4, 4)", list(others.values()), f"slowest: {worst}"),
    ]


def _mean_row(what: str, ratios: list[float], details: str) -> Row:
    mean = mean_of(ratios)
    return Row(what, f"{mean:.2f} × torch, geometric mean", "≤ 0.7 × torch", mean <= 0.7, details)
