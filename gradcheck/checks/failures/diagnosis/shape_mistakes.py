"""Mistakes of shape: moved numbers, missing sums, and sums too many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Guess, Rule, hypothesis, rule_hypothesis
from gradcheck.facts import fact

#: The most axes of which every order is tried.
_MOST_AXES = 4


@hypothesis("transposed", covers=("reshaped", "permuted", "operand_transposed"))
def transposed(e: Evidence) -> Iterator[Guess]:
    """A matrix, or each of a batch, is transposed."""
    if e.got is not None and e.want.ndim >= 2 and (min(e.want.shape[-2:]) > 1 or e.got.shape != e.want.shape):
        yield Guess("mT", fact("is_transpose", ndim=e.want.ndim), np.swapaxes(e.want, -1, -2))


@hypothesis("permuted", covers=("reshaped",))
def permuted(e: Evidence) -> Iterator[Guess]:
    """The axes are in another order."""
    if e.got is None or not 2 < e.want.ndim <= _MOST_AXES:
        return
    last = (*range(e.want.ndim - 2), e.want.ndim - 1, e.want.ndim - 2)
    for order in permutations(range(e.want.ndim)):
        changed = tuple(e.want.shape[axis] for axis in order)
        if order not in (last, tuple(range(e.want.ndim))) and changed == e.got.shape:
            yield Guess(order, fact("axes_permuted", order=order), e.want.transpose(order))


@hypothesis("flipped")
def flipped(e: Evidence) -> Iterator[Guess]:
    """Axes are back to front: one, all, or both of each matrix."""
    if e.got is None or e.got.shape != e.want.shape:
        return
    axes = [axis for axis, size in enumerate(e.want.shape) if size > 1]
    for axis in axes:
        yield Guess(axis, fact("back_to_front", axis=axis if e.want.ndim > 1 else None), np.flip(e.want, axis))
    if len(axes) > 1:
        yield Guess("all", fact("back_to_front_everywhere"), np.flip(e.want))
    if len(axes) > 2 and axes[-2:] == [e.want.ndim - 2, e.want.ndim - 1]:
        yield Guess("kernel", fact("matrices_back_to_front"), np.flip(e.want, (-2, -1)))


@hypothesis("off_by_one")
def shifted(e: Evidence) -> Iterator[Guess]:
    """Numbers are one place off along an axis, cyclically or with zeros."""
    if e.got is None or e.got.shape != e.want.shape:
        return
    for axis, size in enumerate(e.want.shape):
        if size < 3:  # of two, a shift is a flip
            continue
        named_axis = axis if e.want.ndim > 1 else None
        for step in (1, -1):
            rolled = np.roll(e.want, step, axis)
            yield Guess((axis, step), fact("one_place_off", step=step, axis=named_axis, zeros=False), rolled)
            open_ended = rolled.copy()
            np.moveaxis(open_ended, axis, 0)[0 if step == 1 else -1] = 0
            yield Guess((axis, step, 0), fact("one_place_off", step=step, axis=named_axis, zeros=True), open_ended)


@hypothesis("reshaped", covers=("operand_transposed",))
def reshaped(e: Evidence) -> Iterator[Guess]:
    """The numbers have another shape, or are read by columns."""
    if e.got is None or e.got.size != e.want.size or (e.want.size < 2 and e.got.shape == e.want.shape):
        return
    if e.got.shape != e.want.shape:
        yield Guess("shape", fact("only_shape_wrong", got=e.got.shape, want=e.want.shape), e.want.reshape(e.got.shape))
    if e.want.size < 2:
        return
    by_columns = e.want.ravel(order="F").reshape(e.got.shape)
    yield Guess("F", fact("order_of_transpose"), by_columns)
    by_rows = e.want.reshape(e.want.shape[::-1]).transpose().reshape(e.got.shape)
    yield Guess("C", fact("transposed_not_reshaped"), by_rows)


@rule_hypothesis("broadcast_not_undone", covers=("factor",))
def unreduced(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """The gradient of a broadcast argument is not summed."""
    if e.got is None or not rule.application.op.elementwise:
        return
    output, tensor = rule.output, rule.tensor
    if output is None or output.shape == tensor.shape:
        return
    whole = rule.gradient_with_tensors({rule.position: np.broadcast_to(tensor, output.shape).copy()})
    if whole is None:
        return
    axes = _broadcast_axes(tensor.shape, output.shape)
    yield Guess("whole", fact("broadcast_kept", axes=axes), whole)
    for kept in _proper_parts(axes):
        summed = [axis for axis in axes if axis not in kept]
        found = fact("broadcast_partly_kept", axes=kept)
        yield Guess((kept, True), found, whole.sum(tuple(summed), keepdims=True))
        yield Guess((kept, False), found, whole.sum(tuple(summed)))
    for axis, keep in product(set(range(output.ndim)).difference(axes), (True, False)):
        total = whole.sum(axis, keepdims=keep)
        if all(n == m or 1 in (n, m) for n, m in zip(reversed(total.shape), reversed(tensor.shape), strict=False)):
            spread = np.broadcast_to(total, np.broadcast_shapes(total.shape, tensor.shape))
            yield Guess((axis, keep), fact("broadcast_summed_elsewhere", axis=axis, axes=axes), spread)
    for place in (0, -1):
        index = tuple(place if axis in axes else slice(None) for axis in range(output.ndim))
        if whole.size and whole[index].size == tensor.size:
            found = fact("broadcast_one_taken", place=place, axes=axes)
            yield Guess(place, found, whole[index].reshape(tensor.shape))


@hypothesis("broadcast_not_undone")
def unreduced_anywhere(e: Evidence) -> Iterator[Guess]:
    """The gradient summed to the right shape is right."""
    is_elementwise = e.rule is not None and e.rule.application.op.elementwise  # these are looked at above
    if is_elementwise or (e.is_stated and e.rounding_rtol) or e.got is None or e.got.shape == e.want.shape:
        return  # of numbers that a person has written down, nothing was to be undone
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
    """The gradient is summed over axes, and perhaps spread out again."""
    if e.got is None:
        return
    axes = tuple(axis for axis, size in enumerate(e.want.shape) if size > 1)
    if len(axes) > 4:
        return
    for count in range(1, len(axes) + 1):
        for chosen in combinations(axes, count):
            total = e.want.sum(chosen, keepdims=True)
            first = e.want[tuple(slice(1) if axis in chosen else slice(None) for axis in range(e.want.ndim))]
            if np.all(e.want == first):  # of equal numbers a sum is a factor
                continue
            found = fact("summed_over", axes=chosen)
            yield Guess((chosen, "kept"), found, total)
            yield Guess((chosen, "gone"), found, total.squeeze(chosen))
            spread = fact("summed_and_spread", axes=chosen)
            yield Guess((chosen, "spread"), spread, np.broadcast_to(total, e.want.shape))
            mean = total / np.prod([e.want.shape[axis] for axis in chosen])
            yield Guess((chosen, "mean"), fact("averaged_over", axes=chosen), np.broadcast_to(mean, e.want.shape))


def _broadcast_axes(small: tuple[int, ...], large: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of `large` along which `small` is repeated."""
    new = len(large) - len(small)
    return tuple(axis for axis in range(len(large)) if axis < new or small[axis - new] != large[axis])


def _proper_parts(axes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for count in range(1, len(axes)):
        yield from combinations(axes, count)
