"""What a Tensor class's backward pass takes and keeps: learned from graphs of two or three nodes, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradcheck.engines.tensor_class.api import Style
from gradcheck.engines.tensor_class.errors import ANYTHING, said

Seed = Literal["array", "tensor", "none"]

#: What to multiply by, and the incoming gradients of a first and a second pass.
_FACTOR, _FIRST, _SECOND = 3.0, 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Abilities:
    """seed: what `backward` takes. keeps_intermediates: gradients of what is no leaf can be read afterwards.
    keeps_graph: a second pass over the same graph does something."""

    seed: Seed
    keeps_intermediates: bool
    keeps_graph: bool


#: Of a class about which nothing could be learned.
UNKNOWN = Abilities("array", keeps_intermediates=True, keeps_graph=True)


def abilities_of(style: Style) -> Abilities:
    """What the class can do; where not even `(x * 3).backward()` works, what its signature promises."""
    seed = _seed(style)
    return Abilities(seed, _keeps_intermediates(style), _keeps_graph(style, seed))


def seeded(style: Style, seed: Seed, incoming: np.ndarray) -> tuple[Any, ...]:
    """The arguments of `backward` for an incoming gradient."""
    if seed == "none":
        return ()
    return (style.make(incoming, False),) if seed == "tensor" else (incoming.copy(),)


def _shape(style: Style) -> tuple[int, ...]:
    return () if style.scalar else (2, 3)


def _leaf(style: Style, number: float = 2.0, shape: tuple[int, ...] | None = None) -> Any:
    return style.make(np.full(_shape(style) if shape is None else shape, number), True)


def _graphs(style: Style) -> Iterator[tuple[Callable[[Any], Any], float]]:
    """The simplest that a class might understand, each with its derivative."""
    yield (lambda x: x * _FACTOR), _FACTOR
    yield (lambda x: x * _leaf(style, _FACTOR, np.shape(style.read(x)))), _FACTOR
    yield (lambda x: x + _leaf(style, _FACTOR, np.shape(style.read(x)))), 1.0
    yield (lambda x: -x), -1.0


def _build(style: Style, x: Any) -> tuple[Any, float]:
    problem: BaseException | None = None
    for graph, derivative in _graphs(style):
        try:
            y = graph(x)
        except ANYTHING as error:
            problem = error
            continue
        if style.is_tensor(y):
            return y, derivative
    raise ArithmeticError(f"{style.name} can neither multiply, add nor negate: {said(problem) if problem else ''}")


def _seed(style: Style) -> Seed:
    if style.scalar or not style.takes_seed():
        return "none"
    order: tuple[Seed, ...] = ("tensor", "array") if _gradients_are_tensors(style) else ("array", "tensor")
    ran: list[Seed] = []
    for seed in order:
        try:
            found, wanted = _one_pass(style, seed)
        except ANYTHING:  # not understood; the next may be
            continue
        ran.append(seed)
        if found is not None and found.shape == _shape(style) and np.allclose(found, wanted):
            return seed
    return ran[0] if ran else order[0]


def _one_pass(style: Style, seed: Seed) -> tuple[np.ndarray | None, float]:
    x = _leaf(style)
    y, derivative = _build(style, x)
    style.backward(y, *seeded(style, seed, np.full(_shape(style), _FIRST)))
    return style.gradient_array(x), derivative * _FIRST


def _gradients_are_tensors(style: Style) -> bool:
    for shape in ((), (1,)):
        try:
            x = _leaf(style, shape=shape)
            style.backward(_build(style, x)[0])
            if style.gradient(x) is not None:
                return style.is_tensor(style.gradient(x))
        except ANYTHING:  # not understood; the other may be
            continue
    return False


def _keeps_intermediates(style: Style) -> bool:
    """Whether the y of `z = 3 (3 x)` has a gradient after the pass, once asked to retain it."""
    try:
        x = _leaf(style, shape=())
        y, _ = _build(style, x)
        if callable(getattr(y, "retain_grad", None)):
            y.retain_grad()
        z, _ = _build(style, y)
        style.backward(z)
        found = style.gradient_array(y)
    except ANYTHING:  # where nothing can be learned, nothing is done about it
        return True
    return found is not None and bool(np.any(found))


def _keeps_graph(style: Style, seed: Seed) -> bool:
    """Whether the gradient moves in a second pass, with another incoming gradient."""
    try:
        x = _leaf(style, shape=() if seed == "none" else None)
        y, _ = _build(style, x)
        shape = np.shape(style.read(x))
        keep = True if style.retaining else None
        style.backward(y, *seeded(style, seed, np.full(shape, _FIRST)), retain_graph=keep)
        first = style.gradient_array(x)
        first = np.zeros(shape) if first is None else first.copy()
        style.backward(y, *seeded(style, seed, np.full(shape, _SECOND)), retain_graph=keep)
        second = style.gradient_array(x)
    except ANYTHING:  # it refuses
        return False
    if seed == "none":  # one that overwrites has the same again
        return True
    return second is not None and not np.array_equal(first, second)
