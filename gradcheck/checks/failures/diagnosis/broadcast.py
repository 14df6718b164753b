"""Mistakes about what is summed: broadcasting that is not undone, and sums where there should be none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess


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
    text = f"the broadcast is not undone: the sum over {_axes(axes)} of the incoming gradient's shape is missing"
    yield Guess("whole", text, whole)
    for kept in _proper_parts(axes):
        summed = [axis for axis in axes if axis not in kept]
        partly = whole.sum(tuple(summed), keepdims=True)
        text = f"the broadcast is only partly undone: the sum over {_axes(kept)} is missing"
        yield Guess((kept, True), text, partly)
        yield Guess((kept, False), text, whole.sum(tuple(summed)))
    for pick, name in ((0, "first"), (-1, "last")):
        index = tuple(pick if axis in axes else slice(None) for axis in range(output.ndim))
        text = f"the broadcast is not undone: only the {name} of {_axes(axes)} is taken, where they should be summed"
        if whole[index].size == tensor.size:
            yield Guess(name, text, whole[index].reshape(tensor.shape))


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
    summed = e.got.sum(axes).reshape(e.want.shape)
    if np.allclose(summed, e.want, rtol=1e-9, atol=1e-9 * e.scale):
        text = f"the broadcast is not undone: the sum over {_axes(axes)} is missing"
        yield Guess("whole", text, e.got)


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
            text = f"it is summed over {_axes(chosen)}, where it should not be"
            yield Guess((chosen, "kept"), text, total)
            yield Guess((chosen, "gone"), text, total.squeeze(chosen))
            spread = f"{text}, and spread out again"
            yield Guess((chosen, "spread"), spread, np.broadcast_to(total, e.want.shape))
            mean = total / np.prod([e.want.shape[axis] for axis in chosen])
            text = f"it is averaged over {_axes(chosen)}, where it should not be"
            yield Guess((chosen, "mean"), text, np.broadcast_to(mean, e.want.shape))


def _broadcast_axes(small: tuple[int, ...], large: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `large` along which `small` was repeated."""
    new = len(large) - len(small)
    return tuple(axis for axis in range(len(large)) if axis < new or small[axis - new] != large[axis])


def _proper_parts(axes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for count in range(1, len(axes)):
        yield from combinations(axes, count)


def _axes(axes: tuple[int, ...]) -> str:
    if len(axes) == 1:
        return f"axis {axes[0]}"
    return f"axes {', '.join(map(str, axes[:-1]))} and {axes[-1]}"
