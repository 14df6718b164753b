"""The reverse sweep as people can watch it: who sent what to whom, who waits for more, who passes on, in what order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.autograd.backward import backward
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.node import walk
from gradcheck.autograd.op import Op
from gradcheck.autograd.sweep import Pull, count_pending
from gradcheck.autograd.tensor import Tensor
from gradcheck.errors import BackwardTwice, TensorError

#: Larger arrays are remembered by their range and norm alone: a trace must not hold a large graph's gradients twice.
MAX_KEPT = 256


@dataclass(frozen=True, slots=True)
class Glimpse:
    """An array at one moment. `array` is a copy, None of a large one; the rest is of its finite elements, beside which
    there are so many that are `not_finite`."""

    shape: tuple[int, ...]
    dtype: np.dtype
    array: np.ndarray | None
    low: float
    high: float
    norm: float
    not_finite: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """A gradient has arrived at `tensor`: the `received`-th of `expected`, which makes `total` so far.

    `sender` is the child that sent it; None for the incoming gradient of the pass.
    """

    tensor: Tensor
    sender: Tensor | None
    gradient: Glimpse
    received: int
    expected: int
    total: Glimpse

    @property
    def ready(self) -> bool:
        """Whether it was the last that the tensor waited for."""
        return self.received == self.expected


@dataclass(frozen=True, slots=True)
class PassedOn:
    """`tensor` has all its contributions, and `op` passes `gradient`, their sum, on to its creators."""

    tensor: Tensor
    op: Op
    gradient: Glimpse


@dataclass(frozen=True, slots=True)
class Kept:
    """What the pass added to the `grad` of a leaf or of a tensor that retains its own, and what that is now."""

    tensor: Tensor
    gradient: Glimpse
    before: Glimpse | None
    now: Glimpse


@dataclass(frozen=True, slots=True)
class Trace:
    """One backward pass. Where an `error` ended it nothing is kept; `freed` is a tensor that an earlier pass freed."""

    roots: tuple[Tensor, ...]
    events: tuple[Received | PassedOn, ...]
    kept: tuple[Kept, ...] = ()
    error: TensorError | None = None
    freed: Tensor | None = None

    @property
    def order(self) -> list[Tensor]:
        """The tensors in the order in which their gradients became complete and were passed on, or kept by leaves."""
        return [
            event.tensor
            for event in self.events
            if isinstance(event, PassedOn) or (event.ready and event.tensor.creation_op is None)
        ]


def trace(roots: Sequence[Tensor], gradients: Sequence[Any], *, retain_graph: bool = False) -> Trace:
    """Run a backward pass as `backward` does, with all its effects, and tell what happened, errors included."""
    watcher = _Watcher()
    try:
        with np.errstate(all="ignore"):
            backward(roots, gradients, retain_graph=retain_graph, watch=watcher.watch)
    except TensorError as error:
        freed = None
        if isinstance(error, BackwardTwice):
            freed = next(tensor for tensor in walk(roots) if tensor.freed)
        return Trace(tuple(roots), tuple(watcher.events), error=error, freed=freed)
    return Trace(tuple(roots), tuple(watcher.events), tuple(_kept(watcher.sums, watcher.before)))


def glimpse(value: Any) -> Glimpse:
    """What is remembered of an array."""
    array = np.asarray(value)
    values = np.abs(wide(array)) if array.dtype.kind == "c" else wide(array)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    copy = array.copy() if array.size <= MAX_KEPT else None
    norm, not_finite = float(np.linalg.norm(finite)), values.size - finite.size
    return Glimpse(array.shape, array.dtype, copy, low, high, norm, not_finite)


class _Watcher:
    """Stands between the sweep and the gradient rules: it sees every gradient that is passed on, and every share."""

    def __init__(self) -> None:
        self.events: list[Received | PassedOn] = []
        self.sums: dict[Tensor, Any] = {}
        self.before: dict[Tensor, Tensor | None] = {}
        self._received: dict[Tensor, int] = {}
        self._expected: dict[Tensor, int] = {}

    def watch(self, roots: Sequence[Tensor], seeds: Sequence[np.ndarray], pull: Pull) -> Pull:
        """The same `pull`, observed; called once the sweep's start is known. Raises BackwardTwice."""
        self._expected = count_pending(roots)
        for root in roots:
            self._expected[root] += 1
        self.before = {tensor: tensor.grad for tensor in self._expected}
        for root, seed in zip(roots, seeds, strict=True):
            self._receive(root, None, seed)

        def observed(tensor: Tensor, gradient: Any) -> list[tuple[Tensor, Any]]:
            op = tensor.creation_op
            assert op is not None, "the sweep pulls through ops alone"
            self.events.append(PassedOn(tensor, op, glimpse(gradient)))
            shares = list(pull(tensor, gradient))
            for creator, share in shares:
                self._receive(creator, tensor, share)
            return shares

        return observed

    def _receive(self, tensor: Tensor, sender: Tensor | None, share: Any) -> None:
        known = self.sums.get(tensor)
        total = self.sums[tensor] = np.array(share) if known is None else known + share
        number = self._received[tensor] = self._received.get(tensor, 0) + 1
        self.events.append(Received(tensor, sender, glimpse(share), number, self._expected[tensor], glimpse(total)))


def _kept(sums: dict[Tensor, Any], before: dict[Tensor, Tensor | None]) -> Iterator[Kept]:
    for tensor, total in sums.items():
        if tensor.grad is not None and (tensor.creation_op is None or tensor.retains_grad):
            old = before[tensor]
            yield Kept(tensor, glimpse(total), None if old is None else glimpse(old.data), glimpse(tensor.grad.data))
