"""Mistakes about what is summed: broadcasting that is not undone, and sums where there should be none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess
from gradcheck.facts import fact


@hypothesis("broadcast_not_undone", covers=("factor",))
def unreduced(e: Evidence) -> Iterator[Guess]:
    """The gradient of an argument that was broadcast, in the shape of the result, not summed over the new axes."""
    if e.rule is None or e.got is None or not e.rule.application.op.elementwise:
        return
    output, tensor = e.rule.output, e.rule.tensor
    if output is None or output.shape == tensor.shape:
        return
    whole = e.rule.with_tensors({e.rule.position: np.broadcast_to(tensor, output.shape).copy()})
    if whole is None:
        return
    axes = _broadcast_axes(tensor.shape, output.shape)
    yield Guess("whole", fact("broadcast_kept", axes=axes), whole)
    for kept in _proper_parts(axes):
        summed = [axis for axis in axes if axis not in kept]
        found = fact("broadcast_partly_kept", axes=kept)
        yield Guess((kept, True), found, whole.sum(tuple(summed), keepdims=True))
        yield Guess((kept, False), found, whole.sum(tuple(summed)))
    for place in (0, -1):
        index = tuple(place if axis in axes else slice(None) for axis in range(output.ndim))
        if whole[index].size == tensor.size:
            found = fact("broadcast_one_taken", place=place, axes=axes)
            yield Guess(place, found, whole[index].reshape(tensor.shape))


@hypothesis("broadcast_not_undone")
def unreduced_anywhere(e: Evidence) -> Iterator[Guess]:
    """A gradient that becomes the right one when it is summed to the right shape."""
    if e.rule is not None or e.got is None or e.got.shape == e.want.shape:
        return
    try:
        whole = np.broadcast_shapes(e.got.shape, e.want.shape)
    except ValueError:
        return
    if whole != e.got.shape:
        return
    axes = _broadcast_axes(e.want.shape, e.got.shape)
    if e.agree(e.got.sum(axes).reshape(e.want.shape), e.want):
        yield Guess("whole", fact("sum_missing", axes=axes), e.got)


@hypothesis("summed", covers=("factor",))
def summed(e: Evidence) -> Iterator[Guess]:
    """Summed over some axes, with or without keeping them, and possibly spread out again."""
    if e.got is None:
        return
    axes = tuple(axis for axis, size in enumerate(e.want.shape) if size > 1)
    if len(axes) > 4:
        return
    for count in range(1, len(axes) + 1):
        for chosen in combinations(axes, count):
            total = e.want.sum(chosen, keepdims=True)
            found = fact("summed_over", axes=chosen)
            yield Guess((chosen, "kept"), found, total)
            yield Guess((chosen, "gone"), found, total.squeeze(chosen))
            spread = fact("summed_and_spread", axes=chosen)
            yield Guess((chosen, "spread"), spread, np.broadcast_to(total, e.want.shape))
            mean = total / np.prod([e.want.shape[axis] for axis in chosen])
            yield Guess((chosen, "mean"), fact("averaged_over", axes=chosen), np.broadcast_to(mean, e.want.shape))


def _broadcast_axes(small: tuple[int, ...], large: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `large` along which `small` was repeated."""
    new = len(large) - len(small)
    return tuple(axis for axis in range(len(large)) if axis < new or small[axis - new] != large[axis])


def _proper_parts(axes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for count in range(1, len(axes)):
        yield from combinations(axes, count)
