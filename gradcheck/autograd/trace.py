"""The reverse sweep as a trace of events, for people to read."""

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

#: Larger arrays are summarized without a copy, so that a trace does not hold a large graph's gradients twice.
MAX_KEPT = 256


@dataclass(frozen=True, slots=True)
class ArraySummary:
    """A summary of an array at one moment.

    `array` is a copy, or None if large. The numbers describe finite elements; `not_finite` counts the others.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    array: np.ndarray | None
    low: float
    high: float
    norm: float
    not_finite: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """An event: `tensor` receives contribution `received` of `expected`.

    `total` is their sum so far. `sender` is the child that sent it; None for the incoming gradient of the pass.
    """

    tensor: Tensor
    sender: Tensor | None
    gradient: ArraySummary
    received: int
    expected: int
    total: ArraySummary

    @property
    def ready(self) -> bool:
        """Return whether it was the last contribution."""
        return self.received == self.expected


@dataclass(frozen=True, slots=True)
class PassedOn:
    """An event: `op` passes on the complete `gradient` of `tensor`."""

    tensor: Tensor
    op: Op
    gradient: ArraySummary


@dataclass(frozen=True, slots=True)
class Kept:
    """The gradient added to a tensor's `grad`, with the values around it."""

    tensor: Tensor
    gradient: ArraySummary
    before: ArraySummary | None
    now: ArraySummary


@dataclass(frozen=True, slots=True)
class Trace:
    """One backward pass. An `error` leaves nothing `kept`.

    `freed` is a tensor that an earlier pass freed.
    """

    roots: tuple[Tensor, ...]
    events: tuple[Received | PassedOn, ...]
    kept: tuple[Kept, ...] = ()
    error: TensorError | None = None
    freed: Tensor | None = None

    @property
    def order(self) -> list[Tensor]:
        """Return the tensors in the order in which they became complete."""
        return [
            event.tensor
            for event in self.events
            if isinstance(event, PassedOn) or (event.ready and event.tensor.creation_op is None)
        ]


def trace(roots: Sequence[Tensor], gradients: Sequence[Any], *, retain_graph: bool = False) -> Trace:
    """Run `backward` with all its effects; return its events and errors."""
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


def summarize(value: Any) -> ArraySummary:
    """Summarize an array."""
    array = np.asarray(value)
    values = np.abs(wide(array)) if array.dtype.kind == "c" else wide(array)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    copy = array.copy() if array.size <= MAX_KEPT else None
    norm, not_finite = float(np.linalg.norm(finite)), values.size - finite.size
    return ArraySummary(array.shape, array.dtype, copy, low, high, norm, not_finite)


class _Watcher:
    """An observer of every gradient and share that a sweep passes on."""

    def __init__(self) -> None:
        self.events: list[Received | PassedOn] = []
        self.sums: dict[Tensor, Any] = {}
        self.before: dict[Tensor, Tensor | None] = {}
        self._received: dict[Tensor, int] = {}
        self._expected: dict[Tensor, int] = {}

    def watch(self, roots: Sequence[Tensor], seeds: Sequence[np.ndarray], pull: Pull) -> Pull:
        """Return an observed `pull`. Raises BackwardTwice."""
        self._expected = count_pending(roots)
        for root in roots:
            self._expected[root] += 1
        self.before = {tensor: tensor.grad for tensor in self._expected}
        for root, seed in zip(roots, seeds, strict=True):
            self._receive(root, None, seed)

        def observed(tensor: Tensor, gradient: Any) -> list[tuple[Tensor, Any]]:
            op = tensor.creation_op
            assert op is not None, "the sweep pulls through ops alone"
            self.events.append(PassedOn(tensor, op, summarize(gradient)))
            shares = list(pull(tensor, gradient))
            for creator, share in shares:
                self._receive(creator, tensor, share)
            return shares

        return observed

    def _receive(self, tensor: Tensor, sender: Tensor | None, share: Any) -> None:
        known = self.sums.get(tensor)
        total = self.sums[tensor] = np.array(share) if known is None else known + share
        number = self._received[tensor] = self._received.get(tensor, 0) + 1
        self.events.append(Received(tensor, sender, summarize(share), number, self._expected[tensor], summarize(total)))


def _kept(sums: dict[Tensor, Any], before: dict[Tensor, Tensor | None]) -> Iterator[Kept]:
    for tensor, total in sums.items():
        if tensor.grad is not None and (tensor.creation_op is None or tensor.retains_grad):
            old = before[tensor]
            yield Kept(
                tensor,
                summarize(total),
                None if old is None else summarize(old.data),
                summarize(tensor.grad.data),
            )
