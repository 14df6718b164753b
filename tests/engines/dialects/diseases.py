"""Diseases that any style can have, each a hook of the sound class done wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np


class Overwrites:
    """What arrives replaces what has arrived."""

    def spread(self: Any, seed: Any) -> None:
        latest = {id(self): np.asarray(seed, self.dtype)}
        for tensor in self.order():
            tensor.receive(latest[id(tensor)])
            for parent, part in zip(
                tensor.parents, tensor.rule(latest[id(tensor)]) if tensor.parents else (), strict=True
            ):
                latest[id(parent)] = self.fit(part, parent.data.shape)


class LeavesBroadcasts:
    """Broadcasting is not undone."""

    def fit(self, gradient: Any, shape: Any) -> Any:
        return gradient


class LeavesTranspose:
    """A product's second factor is not transposed."""

    def left_of_matmul(self, gradient: Any, other: Any) -> Any:
        return gradient @ other.data


class PassesOnEarly:
    """A tensor passes on what it has when it is first met."""

    def spread(self: Any, seed: Any) -> None:
        arrived = {id(self): np.asarray(seed, self.dtype)}
        found, seen = [self], {id(self)}
        for tensor in found:
            parts = tensor.rule(arrived[id(tensor)]) if tensor.parents else ()
            for parent, part in zip(tensor.parents, parts, strict=True):
                arrived[id(parent)] = arrived.get(id(parent), 0) + self.fit(part, parent.data.shape)
                found += [] if id(parent) in seen else [parent]
                seen.add(id(parent))
        for tensor in found:
            tensor.receive(arrived[id(tensor)])


class CountsTwice:
    """On each arrival, all that has arrived so far is passed on."""

    def spread(self: Any, seed: Any, so_far: Any = None) -> None:
        so_far = {} if so_far is None else so_far
        seed = np.asarray(seed, self.dtype)
        self.receive(seed)
        so_far[id(self)] = so_far.get(id(self), 0) + seed
        for parent, part in zip(self.parents, self.rule(so_far[id(self)]) if self.parents else (), strict=True):
            CountsTwice.spread(parent, self.fit(part, parent.data.shape), so_far)


class KeepsStale:
    """What an earlier pass has left in a tensor is passed on again."""

    left: Any = 0

    def spread(self: Any, seed: Any) -> None:
        self.left = self.left + np.asarray(seed, self.dtype)
        self.receive(np.asarray(seed, self.dtype))
        for tensor in self.order():
            parts = tensor.rule(tensor.left) if tensor.parents else ()
            for parent, part in zip(tensor.parents, parts, strict=True):
                part = self.fit(part, parent.data.shape)
                parent.receive(part)
                parent.left = parent.left + part


class OpensAtZero:
    """relu lets gradients through at 0, where its value is 0 on both sides."""

    def passes(self, data: Any) -> Any:
        return data >= 0


class ClearsNothing:
    """`zero_grad` makes zeros, and puts them nowhere."""

    def zero_grad(self: Any) -> None:
        if self.grad is not None:
            zeros = self.grad * 0
            del zeros


class SharesArrays:
    """Gradients are added up in place, in arrays that are passed on as they are."""

    def fit(self: Any, gradient: Any, shape: Any) -> Any:
        return gradient if gradient.shape == shape else super().fit(gradient, shape)  # type: ignore[misc]

    def spread(self: Any, seed: Any) -> None:
        arrived = {id(self): np.array(seed, self.dtype)}
        for tensor in self.order():
            for parent, part in zip(
                tensor.parents, tensor.rule(arrived[id(tensor)]) if tensor.parents else (), strict=True
            ):
                part = self.fit(part, parent.data.shape)
                if id(parent) in arrived:
                    arrived[id(parent)] += part
                else:
                    arrived[id(parent)] = part
        for tensor in self.order():
            tensor.receive(arrived[id(tensor)].copy())


class AssignsAtIndex:
    """What is chosen twice gets the last of its gradients."""

    def __getitem__(self: Any, key: Any) -> Any:
        def rule(g: Any) -> Any:
            whole = np.zeros(self.data.shape, self.dtype)
            whole[key] = g
            return (whole,)

        return self.new(self.data[key], (self,), rule)


class DropsItself:
    """Of one tensor in both places of a sum, one place's gradient is lost."""

    def __add__(self: Any, other: Any) -> Any:
        other = self.lifted(other)
        return self.new(self.data + other.data, (self, other), lambda g: (g, 0 * g if other is self else g))
