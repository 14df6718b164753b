"""Somebody's own code: what is missed and flagged of the peers' catalogue, given as code, with and without a
specification; and the time beside `torch.autograd.gradcheck` on products of n by n matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.peers import HARD, WRONG, ask, row
from benchmarks.peers.tools import tools
from benchmarks.timing import Row, race
from gradcheck.testing import check_function

#: Sizes of the chains; the last is promised to be so many times faster.
SIZES, PROMISED = (4, 8, 16, 32), 20.0


def rows() -> Iterator[Row]:
    """Two rows for code alone, two for code with a specification, one for time."""
    for name, missed in (("gradcheck, of code alone", 2), ("gradcheck, of code with a specification", 0)):
        tool = tools()[name]
        wrong = row(f"{name}: wrong ones missed", ask(tool, WRONG), "right", f"at most {missed}", 0)
        yield Row(wrong.what, wrong.measured, wrong.promised, _count(wrong) <= missed, wrong.details)
        yield row(f"{name}: right ones flagged", ask(tool, HARD), "wrong", "0", 0)
    yield _time()


def _count(found: Row) -> int:
    return int(found.measured.partition(" ")[0])


class Chain(torch.autograd.Function):
    """A product of three matrices, each with its gradient written by hand."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b, c)
        return a @ b @ c

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        a, b, c = ctx.saved_tensors
        return g @ (b @ c).T, a.T @ g @ c.T, (a @ b).T @ g


def _time() -> Row:
    ratios = {}
    for n in SIZES:
        generator = torch.Generator().manual_seed(n)
        inputs = [torch.randn(n, n, dtype=torch.float64, generator=generator, requires_grad=True) for _ in range(3)]
        contestants = {
            "torch": lambda inputs=inputs: torch.autograd.gradcheck(Chain.apply, inputs),
            "gradcheck": lambda inputs=inputs: check_function(
                Chain.apply, inputs=dict(zip("abc", inputs, strict=True))
            ),
        }
        ratios[n] = race(contestants, rounds=3 if n > 8 else 5).ratio("torch", "gradcheck")
    each = ", ".join(f"n = {n}: {ratio:.2g} ×" for n, ratio in ratios.items())
    last = ratios[SIZES[-1]]
    what = "a chain of three n × n matrices, n = 32, beside `torch.autograd.gradcheck` slow"
    return Row(what, f"{last:.0f} × faster", f"≥ {PROMISED:.0f} × faster", last >= PROMISED, each)
