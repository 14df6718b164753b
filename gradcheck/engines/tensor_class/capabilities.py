"""What a Tensor class's backward pass takes and keeps: learned from graphs of two or three nodes, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.guard import ANYTHING, said

Seed = Literal["array", "tensor", "none"]

#: What to multiply by, and the incoming gradients of a first and a second pass.
_FACTOR, _FIRST, _SECOND = 3.0, 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backward pass takes and keeps.

    seed                 the incoming gradient as `backward` takes it; "none" where it takes none
    keeps_intermediates  gradients of what is no leaf can be read afterwards
    keeps_graph          a second pass over the same graph does something
    """

    seed: Seed
    keeps_intermediates: bool
    keeps_graph: bool


#: Of a class about which nothing could be learned.
UNKNOWN = Capabilities("array", keeps_intermediates=True, keeps_graph=True)


def capabilities_of(api: Api) -> Capabilities:
    """What the class can do; where not even `(x * 3).backward()` works, what its signature promises."""
    seed = _seed(api)
    return Capabilities(seed, _keeps_intermediates(api), _keeps_graph(api, seed))


def seeded(api: Api, seed: Seed, incoming: np.ndarray) -> tuple[Any, ...]:
    """The positional arguments of `backward` for an incoming gradient."""
    if seed == "none":
        return ()
    return (api.make(incoming, False),) if seed == "tensor" else (incoming.copy(),)


def _shape(api: Api) -> tuple[int, ...]:
    return () if api.scalar else (2, 3)


def _leaf(api: Api, number: float = 2.0, shape: tuple[int, ...] | None = None) -> Any:
    return api.make(np.full(_shape(api) if shape is None else shape, number), True)


def _build(api: Api, x: Any) -> tuple[Any, float]:
    """The simplest function of `x` that the class understands, and its derivative."""

    def factor() -> Any:
        return _leaf(api, _FACTOR, np.shape(api.read(x)))

    graphs: tuple[tuple[Callable[[], Any], float], ...] = (
        (lambda: x * _FACTOR, _FACTOR),
        (lambda: x * factor(), _FACTOR),
        (lambda: x + factor(), 1.0),
        (lambda: -x, -1.0),
    )
    problem = ""
    for graph, derivative in graphs:
        try:
            y = graph()
        except ANYTHING as error:
            problem = said(error)
            continue
        if api.is_tensor(y):
            return y, derivative
    raise ArithmeticError(f"{api.name} can neither multiply, add nor negate: {problem}")


def _seed(api: Api) -> Seed:
    if api.scalar or not api.takes_seed():
        return "none"
    order: tuple[Seed, ...] = ("tensor", "array") if _gradients_are_tensors(api) else ("array", "tensor")
    ran: list[Seed] = []
    for seed in order:
        try:
            found, wanted = _one_pass(api, seed)
        except ANYTHING:  # not understood; the next may be
            continue
        ran.append(seed)
        if found is not None and found.shape == _shape(api) and np.allclose(found, wanted):
            return seed
    return ran[0] if ran else order[0]


def _one_pass(api: Api, seed: Seed) -> tuple[np.ndarray | None, float]:
    x = _leaf(api)
    y, derivative = _build(api, x)
    api.backward(y, *seeded(api, seed, np.full(_shape(api), _FIRST)))
    return api.gradient_array(x), derivative * _FIRST


def _gradients_are_tensors(api: Api) -> bool:
    for shape in ((), (1,)):
        try:
            x = _leaf(api, shape=shape)
            api.backward(_build(api, x)[0])
            if api.gradient(x) is not None:
                return api.is_tensor(api.gradient(x))
        except ANYTHING:  # not understood; the other may be
            continue
    return False


def _keeps_intermediates(api: Api) -> bool:
    """Whether the y of `z = 3 (3 x)` has a gradient after the pass, once asked to retain it."""
    try:
        x = _leaf(api, shape=())
        y, _ = _build(api, x)
        api.keep_gradient(y)
        z, _ = _build(api, y)
        api.backward(z)
        found = api.gradient_array(y)
    except ANYTHING:  # where nothing can be learned, nothing is done about it
        return True
    return found is not None and bool(np.any(found))


def _keeps_graph(api: Api, seed: Seed) -> bool:
    """Whether the gradient moves in a second pass, with another incoming gradient."""
    try:
        x = _leaf(api, shape=() if seed == "none" else None)
        y, _ = _build(api, x)
        shape = np.shape(api.read(x))
        keep = True if api.retaining else None
        api.backward(y, *seeded(api, seed, np.full(shape, _FIRST)), retain_graph=keep)
        first = api.gradient_array(x)
        first = np.zeros(shape) if first is None else first.copy()
        api.backward(y, *seeded(api, seed, np.full(shape, _SECOND)), retain_graph=keep)
        second = api.gradient_array(x)
    except ANYTHING:  # it refuses
        return False
    if seed == "none":  # one that overwrites has the same again
        return True
    return second is not None and not np.array_equal(first, second)
